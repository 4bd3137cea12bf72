#include "rules/swapped.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

using namespace corewise::detail;

namespace {

/// Counts its living objects, and notices a look into an object after its end.
class counted {
 public:
  counted(int value, std::atomic<int>& alive) : value_(value), check_(~value), alive_(alive) {
    alive_.fetch_add(1);
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() {
    check_ = value_;
    alive_.fetch_sub(1);
  }
  bool whole() const { return check_ == ~value_; }
  int value() const { return value_; }

 private:
  int value_;
  int check_;
  std::atomic<int>& alive_;
};

std::unique_ptr<const counted> make(int value, std::atomic<int>& alive) {
  return std::make_unique<const counted>(value, alive);
}

} // namespace

TEST_CASE("swapped: an old object stays while a reader holds it, and no longer") {
  std::atomic<int> alive{0};
  {
    swapped<counted> word(make(0, alive));
    std::array<holder<counted>, 2> readers;
    const auto each = [&](const auto& f) {
      for (const auto& r : readers) f(r);
    };
    for (auto& r : readers) CHECK(r.take(word));
    CHECK_FALSE(readers[0].take(word));
    word.replace(make(1, alive));
    word.reclaim(each);
    CHECK(readers[0].get()->value() == 0);
    CHECK(alive == 2);
    CHECK(readers[0].take(word));
    word.reclaim(each);
    CHECK(word.old() == 1);
    readers[1].let_go();
    word.reclaim(each);
    CHECK(word.old() == 0);
    CHECK(alive == 1);
    CHECK(word.read([](const counted& c) { return c.value(); }) == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE(
    "swapped: a reader that does not come back keeps one object alive, after any number of replacements") {
  std::atomic<int> alive{0};
  swapped<counted> word(make(0, alive));
  holder<counted> stuck;
  CHECK(stuck.take(word));
  for (int i = 1; i <= 100; ++i) {
    word.replace(make(i, alive));
    word.reclaim([&](const auto& f) { f(stuck); });
  }
  CHECK(alive == 2);
  CHECK(stuck.get()->value() == 0);
}

TEST_CASE("swapped: the newest object may change between announcement and confirmation") {
  std::atomic<int> alive{0};
  swapped<counted> word(make(0, alive));
  holder<counted> reader;
  reader.announce(word);
  word.replace(make(1, alive));
  CHECK(reader.confirm(word).value() == 1);
  word.reclaim([&](const auto& f) { f(reader); });
  CHECK(alive == 1);
}

TEST_CASE("swapped: readers that come and go never see a destroyed object, and the last reader destroys it") {
  constexpr int replacements = 3000;
  std::atomic<int> alive{0};
  std::atomic<bool> over{false};
  std::atomic<int> broken{0};
  swapped<counted> word(make(0, alive));
  std::array<holder<counted>, 4> readers;
  const auto each = [&](const auto& f) {
    for (const auto& r : readers) f(r);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < readers.size(); ++i)
    threads.emplace_back([&, i] {
      holder<counted>& mine = readers[i];
      for (int last = 0; !over;) {
        if (i % 2 == 0) {
          mine.announce(word);
          full_fence();
          static_cast<void>(mine.confirm(word));
        } else {
          mine.take(word);
        }
        const counted& c = *mine.get();
        if (!c.whole() || c.value() < last) broken.fetch_add(1);
        last = c.value();
        if (i % 2 == 0) mine.let_go();
        if (&c != word.newest()) word.reclaim_once(each);
      }
      mine.let_go();
    });
  for (int n = 1; n <= replacements; ++n) {
    word.replace(make(n, alive));
    word.reclaim(each);
    CHECK(word.old() <= 2 * readers.size()); // one is let go just then, and one is announced too late
  }
  over = true;
  for (std::thread& t : threads) t.join();
  word.reclaim(each);
  CHECK(broken == 0);
  CHECK(alive == 1);
}
