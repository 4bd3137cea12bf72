#include "memory/node_resource.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace corewise::detail {

void* node_pages::do_allocate(std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t page = 4096; // the smallest page size that exists
  const std::size_t more = alignment > page ? alignment : 0;
  if (bytes > SIZE_MAX - more) throw std::bad_alloc();
  node_memory memory(std::max<std::size_t>(bytes, 1) + more, node_);
  void* data = memory.data();
  std::size_t room = memory.size();
  if (std::align(alignment, bytes, data, room) == nullptr) throw std::bad_alloc();
  mapped_.emplace(data, std::move(memory));
  return data;
}

void node_pages::do_deallocate(void* data, std::size_t /*bytes*/, std::size_t /*alignment*/) {
  mapped_.erase(data);
}

void* node_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (process_ != process_number()) return ::operator new(bytes, std::align_val_t{alignment});
  const std::scoped_lock lock(mutex_);
  return pools_.allocate(bytes, alignment);
}

void node_resource::do_deallocate(void* data, std::size_t bytes, std::size_t alignment) {
  if (process_ != process_number()) return;
  const std::scoped_lock lock(mutex_);
  pools_.deallocate(data, bytes, alignment);
}

} // namespace corewise::detail
