#pragma once

#include <corewise/io/detail/group_context.hpp>

#include <type_traits>
#include <utility>

namespace corewise::io {

/// A property of executors: the class with which the tasks run. `asio::require(e, io::run_as(task_class::latency))`.
struct run_as {
  task_class as = task_class::normal;

  constexpr explicit run_as(task_class c = task_class::normal) noexcept : as(c) {}

  template <class T> static constexpr bool is_applicable_property_v = asio::execution::is_executor<T>::value;
  static constexpr bool is_requirable = true;
  static constexpr bool is_preferable = true;
  using polymorphic_query_result_type = task_class;
};

/// A property of executors: the hint for the tasks. `asio::require(e, io::hinted({.run_as = task_class::latency, .name =
/// "sessions"}))`. Its class and its name count. The tasks have the executor's group, whatever the hint says of a
/// place; and an executor runs more than one request (`id`), lasts longer than a `deadline`, and has no daemons. A
/// later `run_as` changes the class alone.
///
/// Strands of such an executor, and what is bound to it, keep the property. So does an `any_io_executor`, but it is
/// asked for Asio's own properties only: require this one before. A function that is dispatched in a task of the group,
/// as the beginning of `co_spawn` is, runs within that task, with its class and name. Cost of a name: as with `hint`,
/// for each task.
struct hinted {
  hint wish;

  constexpr explicit hinted(const hint& h = {}) noexcept : wish(h) {}

  template <class T> static constexpr bool is_applicable_property_v = asio::execution::is_executor<T>::value;
  static constexpr bool is_requirable = true;
  static constexpr bool is_preferable = true;
  using polymorphic_query_result_type = hint;
};

/// Runs functions as tasks of one locality group of an engine. It meets Asio's requirements of executors, so
/// sockets, timers, strands, `co_spawn` and `any_io_executor` take it. Their events come to workers of that
/// group; no thread of Asio's is started. 24 bytes; copies are cheap. It must not be used when its engine is
/// gone.
///
/// A *tracked* executor (`outstanding_work.tracked`) stands for an operation: what it runs is never refused.
/// Another one submits: `execute` throws `system_error` while the engine is full, and once the engine shuts down
/// the function is destroyed, uncalled, as Asio does when a context is destroyed.
class executor {
 public:
  explicit executor(detail::group_context& context) noexcept : context_(&context) {}
  executor(const executor& other) noexcept : context_(other.context_), traits_(other.traits_) {
    if (traits_.tracked) context_->begin_operation();
  }
  executor(executor&& other) noexcept
      : context_(other.context_),
        traits_(std::exchange(other.traits_, untracked(other.traits_))) {}
  executor& operator=(const executor& other) noexcept {
    executor copy(other);
    swap(copy);
    return *this;
  }
  executor& operator=(executor&& other) noexcept {
    executor moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~executor() {
    if (traits_.tracked) context_->end_operation();
  }

  /// Returns the group whose workers run the tasks.
  group_id group() const noexcept { return context_->group(); }

  /// Calls `f()` once: at once if the executor may block and the calling thread runs a task of the group, else
  /// as a task of the group. Throws `std::bad_alloc`, `system_error`.
  template <class F> void execute(F&& f) const {
    if (traits_.may_block && context_->runs_here()) {
      std::decay_t<F> called(std::forward<F>(f));
      called();
      return;
    }
    if (traits_.tracked || context_->polled_here())
      context_->go_on(context_->make_completion(std::forward<F>(f)), traits_.runs_as, traits_.name);
    else
      context_->submit(make_closure(std::forward<F>(f)), traits_.runs_as, traits_.name);
  }

  bool operator==(const executor& other) const noexcept {
    return context_ == other.context_ && traits_ == other.traits_;
  }
  bool operator!=(const executor& other) const noexcept = default;

  // --- Asio's properties

  asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
  static constexpr asio::execution::mapping_t query(asio::execution::mapping_t) noexcept {
    return asio::execution::mapping.thread;
  }
  asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept {
    if (traits_.may_block) return asio::execution::blocking.possibly;
    return asio::execution::blocking.never;
  }
  asio::execution::relationship_t query(asio::execution::relationship_t) const noexcept {
    if (traits_.continues) return asio::execution::relationship.continuation;
    return asio::execution::relationship.fork;
  }
  asio::execution::outstanding_work_t query(asio::execution::outstanding_work_t) const noexcept {
    if (traits_.tracked) return asio::execution::outstanding_work.tracked;
    return asio::execution::outstanding_work.untracked;
  }
  task_class query(const run_as&) const noexcept { return traits_.runs_as; }
  hint query(const hinted&) const noexcept {
    return {.group = group(), .run_as = traits_.runs_as, .name = traits_.name};
  }

  executor require(asio::execution::blocking_t::possibly_t) const noexcept {
    return with(&traits::may_block, true);
  }
  executor require(asio::execution::blocking_t::never_t) const noexcept {
    return with(&traits::may_block, false);
  }
  executor require(asio::execution::relationship_t::fork_t) const noexcept {
    return with(&traits::continues, false);
  }
  executor require(asio::execution::relationship_t::continuation_t) const noexcept {
    return with(&traits::continues, true);
  }
  executor require(asio::execution::outstanding_work_t::tracked_t) const noexcept {
    return with(&traits::tracked, true);
  }
  executor require(asio::execution::outstanding_work_t::untracked_t) const noexcept {
    return with(&traits::tracked, false);
  }
  executor require(const run_as& wish) const noexcept { return with(&traits::runs_as, wish.as); }
  executor require(const hinted& by) const noexcept {
    return with(&traits::runs_as, by.wish.run_as).with(&traits::name, by.wish.name);
  }

  /// For what is in this layer.
  detail::group_context& of() const noexcept { return *context_; }

 private:
  struct traits {
    bool may_block = true;
    bool continues = false;
    bool tracked = false;
    task_class runs_as = task_class::normal;
    const char* name = nullptr; // of the tasks, in dumps

    bool operator==(const traits&) const noexcept = default;
  };

  executor(detail::group_context& context, traits t) noexcept : context_(&context), traits_(t) {
    if (traits_.tracked) context_->begin_operation();
  }
  static traits untracked(traits t) noexcept {
    t.tracked = false;
    return t;
  }
  template <class T> executor with(T traits::* which, T value) const noexcept {
    traits changed = traits_;
    changed.*which = value;
    return {*context_, changed};
  }
  void swap(executor& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(traits_, other.traits_);
  }

  detail::group_context* context_;
  traits traits_;
};

namespace detail {

/// Returns the engine's executor that another one is, or holds; null: it is of no engine.
template <class E> const executor* own_executor(const E& of) noexcept {
  if constexpr (std::is_same_v<E, executor>)
    return &of;
  else if constexpr (std::is_same_v<E, asio::any_io_executor>)
    return of.template target<executor>();
  else
    return nullptr;
}

} // namespace detail

} // namespace corewise::io
