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
  const auto& own = contexts_.at(g.value);
  return executor(own != nullptr ? *own : *contexts_[driving::nearest(driving::of(engine_), g).value]);
}

service::counts service::count() const noexcept {
  counts all;
  for (const auto& context : contexts_)
    if (context != nullptr) all += context->count();
  return all;
}

service::counts service::count(group_id g) const {
  const auto& context = contexts_.at(g.value);
  return context != nullptr ? context->count() : counts();
}

} // namespace corewise::io
