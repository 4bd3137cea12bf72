#pragma once

#include <corewise/engine/engine.hpp>

#include <functional>

namespace corewise::emulated {

/// Has each worker of `e` run `f` once, several at a time: the first task that comes to a worker holds it
/// until one task has begun on each. Throws `std::runtime_error` when some had not begun after a minute.
void on_every_worker(engine& e, const std::function<void(worker_id)>& f);

} // namespace corewise::emulated
