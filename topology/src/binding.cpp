#include <corewise/topology/binding.hpp>

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

namespace corewise {
namespace {

/// The kernel's form of a CPU set, as wide as it must be: glibc's own `cpu_set_t` ends at 1,024 CPUs.
class kernel_cpu_set {
 public:
  explicit kernel_cpu_set(std::size_t cpus)
      : set_(CPU_ALLOC(cpus)),
        bytes_(CPU_ALLOC_SIZE(cpus)),
        cpus_(cpus) {
    if (set_ == nullptr) throw std::bad_alloc();
    CPU_ZERO_S(bytes_, set_.get());
  }

  void insert(std::size_t cpu) noexcept { CPU_SET_S(cpu, bytes_, set_.get()); }
  bool contains(std::size_t cpu) const noexcept { return CPU_ISSET_S(cpu, bytes_, set_.get()) != 0; }
  ::cpu_set_t* data() const noexcept { return set_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t cpus() const noexcept { return cpus_; }

 private:
  struct release {
    void operator()(::cpu_set_t* set) const noexcept { CPU_FREE(set); }
  };
  std::unique_ptr<::cpu_set_t, release> set_;
  std::size_t bytes_;
  std::size_t cpus_;
};

constexpr const char* no_memory = "no memory"; // so short that a string of it needs none

cpu_set from_kernel(const kernel_cpu_set& found) {
  cpu_set cpus;
  for (std::uint32_t cpu = 0; cpu < found.cpus() && cpu <= cpu_set::largest; ++cpu)
    if (found.contains(cpu)) cpus.insert(cpu);
  return cpus;
}

} // namespace

refusal pin_this_thread(const cpu_set& cpus) { return pin_thread(pthread_self(), cpus); }

refusal pin_thread(std::thread::native_handle_type thread, const cpu_set& cpus) try {
  if (cpus.empty()) return "a thread needs at least one CPU to be pinned to";
  const std::vector<std::uint32_t> list = cpus.to_vector();
  kernel_cpu_set wanted(list.back() + std::size_t{1});
  for (const std::uint32_t cpu : list) wanted.insert(cpu);
  const int error = pthread_setaffinity_np(thread, wanted.bytes(), wanted.data());
  if (error == 0) return std::nullopt;
  const std::string why =
      error == EINVAL ? "none of them may be used here" : std::generic_category().message(error);
  return "a thread cannot be pinned to CPUs " + cpus.to_string() + ": " + why;
} catch (const std::bad_alloc&) {
  return no_memory;
}

cpu_set this_thread_affinity() {
  // The kernel refuses a set that is narrower than its own and does not say how wide its own is.
  for (std::size_t width = 1024; width <= std::size_t{1} << 20; width *= 2) {
    kernel_cpu_set found(width);
    const int error = pthread_getaffinity_np(pthread_self(), found.bytes(), found.data());
    if (error == 0) return from_kernel(found);
    if (error != EINVAL) break;
  }
  return {};
}

int detail::this_cpu_or_none() noexcept { return ::sched_getcpu(); }

} // namespace corewise
