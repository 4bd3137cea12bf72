#include "worker/task_label.hpp"

#include <corewise/engine/detail/recycled.hpp>
#include <corewise/engine/detail/transfer.hpp>
#include <corewise/engine/task.hpp>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

namespace corewise::detail {

namespace {

/// While it lives, the calling thread runs a closure, though its root is a coroutine.
class as_closure {
 public:
  explicit as_closure(const task_label& label) noexcept
      : root_(std::exchange(this_execution.root, nullptr)),
        within_(std::exchange(this_execution.within, value_chain(&label))) {}
  as_closure(const as_closure&) = delete;
  as_closure& operator=(const as_closure&) = delete;
  ~as_closure() {
    this_execution.root = root_;
    this_execution.within = within_;
  }

 private:
  coroutine_root* const root_;
  const value_chain within_;
  const uncounted_transfers none_counted_;
};

/// A label, and the task that has it.
struct labelled_task : task_label {
  unbegun_task call;          // where it is a closure
  std::optional<task<>> work; // where it is a coroutine

  struct destroy {
    void operator()(labelled_task* l) const noexcept { recycled<labelled_task>::destroy(l); }
  };
  using owner = std::unique_ptr<labelled_task, destroy>;

  /// The root in whose chain the label is.
  static task<> run(owner self) {
    if (self->work) {
      co_await *std::exchange(self->work, std::nullopt);
    } else {
      const as_closure here(*self);
      task_header* const t = self->call.release();
      t->act(t, task_action::run);
    }
  }
};

} // namespace

const char label_key = 0;

const char* kind_of(bool (*act)(task_header*, task_action)) noexcept {
  act(nullptr, task_action::identify);
  return std::exchange(this_execution.kind, nullptr);
}

unbegun_task with_label(unbegun_task& t, const hint& wish, runtime& engine) {
  labelled_task::owner made(recycled<labelled_task>::make());
  labelled_task& label = *made;
  task<> runs = labelled_task::run(std::move(made));
  label.key = &label_key;
  label.name = wish.name;
  label.id = wish.id;
  future_state* settles = nullptr;
  if (const char* const kind = kind_of(t->act); kind == coroutine_kind) {
    auto& root = static_cast<strand&>(*t.release());
    settles = root.future();
    label.frame = root.frame().address();
    label.work.emplace(fork_access::retake<task<>>(root));
  } else {
    label.kind = kind;
    label.call = std::move(t);
  }
  auto& root = static_cast<strand&>(*std::move(runs).release_to(engine));
  root.bind(label);
  if (settles != nullptr) root.note_future(*settles);
  return unbegun_task(&root);
}

unbegun_task without_label(unbegun_task labelled, runtime& engine) noexcept {
  const auto& root = static_cast<const strand&>(*labelled);
  auto& label = static_cast<labelled_task&>(const_cast<bound_value&>(*root.bound()));
  return label.work ? unbegun_task(std::move(*label.work).release_to(engine)) : std::move(label.call);
}

std::string task_text(std::string_view kind, std::string_view name, trace_id id) {
  std::string label(name);
  if (id) label += (label.empty() ? "" : ", ") + to_string(id);
  if (kind.empty()) return label;
  return label.empty() ? std::string(kind) : fmt::format("{} ({})", kind, label);
}

} // namespace corewise::detail
