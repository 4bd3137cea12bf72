#include <corewise/topology/binding.hpp>

#include <pthread.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <new>
#include <system_error>

namespace corewise {
namespace {

/// The kernel's form of a CPU set. It has room for every CPU that a `cpu_set` may hold, and needs no memory: threads
/// that begin may have none. Glibc's own `cpu_set_t` ends at 1,024 CPUs.
class kernel_cpu_set {
 public:
  void insert(std::size_t cpu) noexcept { CPU_SET_S(cpu, bytes(), set_.data()); }
  bool contains(std::size_t cpu) const noexcept { return CPU_ISSET_S(cpu, bytes(), set_.data()) != 0; }
  ::cpu_set_t* data() noexcept { return set_.data(); }
  static constexpr std::size_t bytes() noexcept { return sizeof set_; }

 private:
  std::array<::cpu_set_t, (cpu_set::largest + 1) / CPU_SETSIZE> set_{};
};

constexpr const char* no_memory = "no memory"; // so short that a string of it needs none

} // namespace

refusal pin_this_thread(const cpu_set& cpus) { return pin_thread(pthread_self(), cpus); }

refusal pin_thread(std::thread::native_handle_type thread, const cpu_set& cpus) try {
  if (cpus.empty()) return "a thread needs at least one CPU to be pinned to";
  kernel_cpu_set wanted;
  std::size_t left = cpus.size();
  for (std::uint32_t cpu = cpus.first(); left != 0; ++cpu)
    if (cpus.contains(cpu)) {
      wanted.insert(cpu);
      --left;
    }
  const int error = pthread_setaffinity_np(thread, wanted.bytes(), wanted.data());
  if (error == 0) return std::nullopt;
  const std::string why =
      error == EINVAL ? "none of them may be used here" : std::generic_category().message(error);
  return "a thread cannot be pinned to CPUs " + cpus.to_string() + ": " + why;
} catch (const std::bad_alloc&) {
  return no_memory;
}

cpu_set this_thread_affinity() {
  kernel_cpu_set found;
  cpu_set cpus;
  if (pthread_getaffinity_np(pthread_self(), found.bytes(), found.data()) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu <= cpu_set::largest; ++cpu)
    if (found.contains(cpu)) cpus.insert(cpu);
  return cpus;
}

int detail::this_cpu_or_none() noexcept { return ::sched_getcpu(); }

} // namespace corewise
