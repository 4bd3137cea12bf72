#pragma once

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/detail/bound_values.hpp>
#include <corewise/engine/detail/fork_join.hpp>

#include <cstdint>
#include <optional>

namespace corewise::detail {

/// The way along a chain of bound values. `read(from, to)` copies a word or a node, and returns whether it
/// could: a plain copy for the chain of the calling task, `peek` for that of another thread.
class chain_walk {
 public:
  /// Reads what the calling task or its parents own: they do not change it meanwhile.
  static constexpr auto read_own = [](const auto* from, auto& to) {
    to = *from;
    return true;
  };

  /// Returns where the chain of a coroutine begins; nothing if it cannot be read.
  template <class Read> static std::optional<value_chain> of(const strand& s, const Read& read) noexcept {
    const strand* word = nullptr;
    std::uint8_t mark = 0;
    const join_point* join = nullptr;
    if (!read(&s.sibling, word)) return std::nullopt;
    if (const bound_value* const v = strand::bound_in(word)) return v;
    if (!read(&s.mark, mark)) return std::nullopt;
    if (static_cast<strand_role>(mark) == strand_role::root) return value_chain();
    if (!read(&s.join, join)) return std::nullopt;
    return join;
  }

  /// Returns the node with the key, or null, from `root`, or where that is null from `at` on. Looks at
  /// `most` links.
  template <class Read>
  static const bound_value* find(const void* key, const coroutine_root* root, value_chain at,
                                 std::uint32_t most, const Read& read) noexcept {
    for (; most != 0; --most) {
      if (root != nullptr) {
        const std::optional<value_chain> begins = of(*static_cast<const strand*>(root), read);
        if (!begins) return nullptr;
        at = *begins;
        root = nullptr;
      }
      bool known = false;
      if (const bound_value* const v = at.value()) {
        bound_value node{};
        if (!read(v, node)) return nullptr;
        if (node.key == key) return v;
        at = node.outer;
        known = true;
      } else if (const join_point* const j = at.join()) {
        known = read(&j->root_, root) && root != nullptr;
      } else if (const blocking_scope* const s = at.scope()) {
        known = read(&s->around_, at);
      }
      if (!known) return nullptr;
    }
    return nullptr;
  }
};

} // namespace corewise::detail
