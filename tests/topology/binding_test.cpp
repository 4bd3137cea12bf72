#include "refused_call.hpp"

#include <corewise/topology/binding.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <new>
#include <thread>

using namespace corewise;

namespace {

/// Runs `f` on a thread of its own, so that the test program's thread keeps its affinity and memory policy.
template <class F> void on_a_thread(F f) { std::thread(f).join(); }

std::string text(const refusal& r) { return r.value_or("done"); }

} // namespace

TEST_CASE("binding: a pinned thread runs on the CPUs to which it is pinned") {
  for (const std::uint32_t cpu : this_thread_affinity().to_vector())
    on_a_thread([cpu] {
      const cpu_set wanted = cpu_set::range(cpu, cpu);
      CHECK(text(pin_this_thread(wanted)) == "done");
      CHECK(this_thread_affinity() == wanted);
      CHECK(this_cpu() == cpu);
    });
}

TEST_CASE("binding: a thread can pin another one") {
  std::atomic<bool> pinned{false};
  cpu_set found;
  std::thread other([&] {
    pinned.wait(false);
    found = this_thread_affinity();
  });
  const std::uint32_t cpu = this_thread_affinity().to_vector().back();
  CHECK(text(pin_thread(other.native_handle(), cpu_set::range(cpu, cpu))) == "done");
  pinned = true;
  pinned.notify_all();
  other.join();
  CHECK(found == cpu_set::range(cpu, cpu));
}

TEST_CASE("binding: missing CPUs beside present ones are ignored") {
  on_a_thread([] {
    const cpu_set before = this_thread_affinity();
    cpu_set wanted = before;
    wanted.insert(cpu_set::largest);
    CHECK(text(pin_this_thread(wanted)) == "done");
    CHECK(this_thread_affinity() == before);
  });
}

TEST_CASE("binding: missing CPUs are refused with a reason, and nothing changes") {
  on_a_thread([] {
    const cpu_set before = this_thread_affinity();
    CHECK(text(pin_this_thread(cpu_set::range(65000, 65001))) ==
          "a thread cannot be pinned to CPUs 65000-65001: none of them may be used here");
    CHECK(text(pin_this_thread({})) == "a thread needs at least one CPU to be pinned to");
    CHECK(this_thread_affinity() == before);
  });
}

TEST_CASE("binding: node memory is zeroed, whole pages, and can be written") {
  node_memory memory(5000, std::nullopt);
  REQUIRE(memory.data() != nullptr);
  CHECK(memory.size() >= 5000);
  CHECK(memory.size() % 4096 == 0);
  const auto* bytes = static_cast<const unsigned char*>(memory.data());
  for (std::size_t i = 0; i < memory.size(); ++i) REQUIRE(bytes[i] == 0);
  std::memset(memory.data(), 1, memory.size());
}

TEST_CASE("binding: node memory can be moved, and an empty one has no bytes") {
  node_memory a(1, std::nullopt);
  void* const data = a.data();
  node_memory b(std::move(a));
  CHECK(b.data() == data);
  node_memory c;
  CHECK(c.data() == nullptr);
  c = std::move(b);
  CHECK(c.data() == data);
  CHECK(node_memory(0, 0).data() == nullptr);
  CHECK_THROWS_AS(node_memory(SIZE_MAX, std::nullopt), std::bad_alloc);
  CHECK_THROWS_AS(node_memory(SIZE_MAX / 2, std::nullopt), std::bad_alloc);
}

TEST_CASE("binding: memory of a node lies there, or the refusal gives the reason") {
  refusal why;
  node_memory memory(4096, 0, &why);
  std::memset(memory.data(), 1, memory.size());
  if (why)
    CHECK(why->starts_with("memory cannot be placed on node 0: "));
  else if (const auto node = node_of_page(memory.data())) // some containers let bind but not ask
    CHECK(*node == 0);
  on_a_thread([] {
    if (const refusal preferred = prefer_node(0))
      CHECK(preferred->starts_with("memory cannot be placed on node 0: "));
  });
}

TEST_CASE("binding: missing nodes are refused with a reason, and the memory is still allocated") {
  for (const std::uint32_t node : {1000U, 70000U, 4294967295U}) {
    refusal why;
    const node_memory memory(4096, node, &why);
    CHECK(memory.data() != nullptr);
    CHECK(text(why).starts_with("memory cannot be placed on node " + std::to_string(node) + ": "));
    CHECK(text(prefer_node(node)) == text(why));
  }
}

TEST_CASE("binding: where the kernel refuses to place memory there is a reason, and the memory is there") {
  const auto placed = [] {
    refusal why;
    node_memory memory(4096, 0, &why);
    std::memset(memory.data(), 1, memory.size());
    return why;
  };
  CHECK(tests::wrong_without(SYS_mbind, {}, [&] { return placed() ? 0 : 1; }) == 0);
  CHECK(tests::wrong_without(SYS_get_mempolicy, {}, [&] { return placed() && prefer_node(0) ? 0 : 1; }) == 0);
  CHECK(tests::wrong_without(SYS_set_mempolicy, {}, [] { return prefer_node(0) ? 0 : 1; }) == 0);
  CHECK(tests::wrong_without(SYS_move_pages, {}, [] {
          const int touched = 0;
          return node_of_page(&touched) ? 1 : 0;
        }) == 0);
}

TEST_CASE("binding: the node of memory that was never touched is unknown") {
  const node_memory memory(4096, std::nullopt);
  CHECK_FALSE(node_of_page(memory.data()));
}
