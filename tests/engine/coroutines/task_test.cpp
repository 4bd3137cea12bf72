#include <corewise/engine/detail/task_header.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <stdexcept>

using namespace corewise;

namespace {

void run(task_header* t) { t->act(t, task_action::run); }
void discard(task_header* t) { t->act(t, task_action::discard); }

/// Counts its living copies and its calls.
template <std::size_t Bytes> struct tracked {
  int* alive;
  int* calls;
  std::array<std::byte, Bytes> ballast{};

  tracked(int* a, int* c) : alive(a), calls(c) { ++*alive; }
  tracked(tracked&& other) noexcept : alive(other.alive), calls(other.calls) { ++*alive; }
  tracked(const tracked&) = delete;
  ~tracked() { --*alive; }
  void operator()() { ++*calls; }
};

template <std::size_t Bytes> void check_life() {
  CAPTURE(Bytes);
  int alive = 0;
  int calls = 0;
  run(make_closure(tracked<Bytes>(&alive, &calls)));
  CHECK(alive == 0);
  CHECK(calls == 1);
  discard(make_closure(tracked<Bytes>(&alive, &calls)));
  CHECK(alive == 0);
  CHECK(calls == 1);
}

} // namespace

TEST_CASE("task: a closure of any size is called once and destroyed once, or destroyed uncalled") {
  check_life<1>();
  check_life<40>();
  check_life<100>();
  check_life<400>();
  check_life<487>();
  check_life<5000>();
  check_life<100'000>();
}

TEST_CASE("task: a closure may hold an object that can only be moved") {
  auto value = std::make_unique<int>(7);
  int seen = 0;
  run(make_closure([v = std::move(value), &seen] { seen = *v; }));
  CHECK(seen == 7);
}

TEST_CASE("task: a closure that throws is also destroyed") {
  int alive = 0;
  int calls = 0;
  task_header* t = make_closure([keep = tracked<8>(&alive, &calls)] { throw std::runtime_error("x"); });
  CHECK_THROWS_AS(run(t), std::runtime_error);
  CHECK(alive == 0);
}

TEST_CASE("task: alignment beyond that of a block is honoured") {
  struct alignas(256) wide {
    int* ok;
    void operator()() const { *ok = reinterpret_cast<std::uintptr_t>(this) % 256 == 0 ? 1 : 2; }
  };
  int ok = 0;
  run(make_closure(wide{&ok}));
  CHECK(ok == 1);
}

TEST_CASE("task: when the move of the callable throws, nothing leaks and the caller gets the error") {
  struct refuses {
    refuses() = default;
    refuses(const refuses&) { throw std::runtime_error("no copy"); }
    void operator()() const {}
  };
  const refuses one;
  CHECK_THROWS_AS(static_cast<void>(make_closure(one)), std::runtime_error);
}
