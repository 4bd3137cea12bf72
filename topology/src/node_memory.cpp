#include <corewise/topology/binding.hpp>

#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

// libnuma's comfortable calls print to standard error when the kernel refuses; a library must not. So only
// its plain system calls are used.

namespace corewise {
namespace {

/// No kernel has more nodes.
constexpr std::uint32_t nodes_max = 65536;

std::string refused(std::uint32_t node, const std::string& why) {
  return "memory cannot be placed on node " + std::to_string(node) + ": " + why;
}

std::string explain(int error) {
  return error == EINVAL ? "there is no such node with memory, or this process may not use it"
                         : std::generic_category().message(error);
}

/// A set with one node in it, in the form that the kernel reads.
struct node_mask {
  std::vector<unsigned long> words;

  explicit node_mask(std::uint32_t node) : words(node / bits_per_word + 1) {
    words.back() = 1UL << (node % bits_per_word);
  }
  /// The kernel takes one bit less than it is told.
  unsigned long bits() const noexcept { return words.size() * bits_per_word + 1; }

  static constexpr std::size_t bits_per_word = sizeof(unsigned long) * CHAR_BIT;
};

/// Calls `apply` with the node as a mask, if the machine has nodes and the node's number is possible.
template <class Apply> refusal with_node(std::uint32_t node, Apply apply) {
  if (!node_memory_available()) return refused(node, "this kernel or container has no memory policies");
  if (node >= nodes_max) return refused(node, explain(EINVAL));
  node_mask mask(node);
  if (apply(mask) == 0) return std::nullopt;
  return refused(node, explain(errno));
}

std::size_t round_to_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) throw std::bad_alloc();
  return (bytes + page - 1) / page * page;
}

void* map_zeroed(std::size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return data;
}

} // namespace

bool node_memory_available() noexcept {
  // As numa_available(), which keeps no answer either.
  return get_mempolicy(nullptr, nullptr, 0, nullptr, 0) == 0 || (errno != ENOSYS && errno != EPERM);
}

refusal prefer_node(std::uint32_t os_index) try {
  return with_node(os_index, [](node_mask& mask) {
    return set_mempolicy(MPOL_PREFERRED, mask.words.data(), mask.bits());
  });
} catch (const std::bad_alloc&) {
  return "no memory"; // so short that a string of it needs none
}

std::optional<std::uint32_t> node_of_page(const void* address) {
  void* page = const_cast<void*>(address); // the call only asks about the page and does not write to it
  int node = -1;
  if (move_pages(0, 1, &page, nullptr, &node, 0) != 0 || node < 0) return std::nullopt;
  return static_cast<std::uint32_t>(node);
}

node_memory::node_memory(std::size_t bytes, std::optional<std::uint32_t> os_index, refusal* why)
    : node_memory() { // so that the destructor frees the pages when `with_node` throws
  if (bytes == 0) return;
  const std::size_t size = round_to_pages(bytes);
  data_ = map_zeroed(size);
  size_ = size;
  if (!os_index) return;
  refusal answer = with_node(*os_index, [this](node_mask& mask) {
    return mbind(data_, size_, MPOL_PREFERRED, mask.words.data(), mask.bits(), 0);
  });
  if (answer && why != nullptr) *why = std::move(answer);
}

node_memory::node_memory(node_memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

node_memory& node_memory::operator=(node_memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

node_memory::~node_memory() {
  if (data_ != nullptr) munmap(data_, size_);
}

} // namespace corewise
