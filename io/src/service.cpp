#include <corewise/io/service.hpp>

#include <stdexcept>

namespace corewise::io {

using detail::driving;

service::service(engine& e) : engine_(e) {
  for (const locality_group& g : e.groups().groups())
    contexts_.push_back(e.workers().of_group(g.id).empty()
                            ? nullptr
                            : std::make_shared<detail::group_context>(driving::of(e), g.id));
  if (!driving::attach(e, {contexts_.begin(), contexts_.end()}))
    throw std::logic_error("io::service: the engine has one already, or shuts down");
}

executor service::local() const noexcept {
  return executor(*contexts_[driving::nearest(driving::of(engine_)).value]);
}

executor service::of(group_id g) const {
  static_cast<void>(contexts_.at(g.value));
  return executor(*contexts_[driving::nearest(driving::of(engine_), g).value]);
}

std::uint64_t service::operations() const noexcept {
  std::uint64_t all = 0;
  for (const auto& context : contexts_)
    if (context != nullptr) all += context->operations();
  return all;
}

} // namespace corewise::io
