#include "worker/task_event.hpp"

#include "base/chain_walk.hpp"
#include "recording/task_identity.hpp"
#include "worker/kind_source.hpp"
#include "worker/shared.hpp"
#include "worker/task_label.hpp"
#include "worker/worker.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace corewise::detail {

namespace {

constexpr std::size_t name_part = 24;

/// Records it in parts of 24 bytes.
void record_name(const char* name, engine_number of) noexcept {
  std::string_view rest(name, ::strnlen(name, task_label::longest_name));
  while (!rest.empty()) {
    std::array<std::uint64_t, 3> words{};
    const std::size_t size = std::min(rest.size(), name_part);
    std::memcpy(words.data(), rest.data(), size);
    record_words(event_code::name, of, words);
    rest.remove_prefix(size);
  }
}

struct labelled_kind {
  task_kind kind;
  const task_label* label = nullptr;
};

labelled_kind labelled_kind_of(const task_header& t) noexcept {
  const coroutine_root* const root = root_of(t);
  if (root == nullptr) return {{kind_word::act, reinterpret_cast<std::uintptr_t>(t.act)}};
  const bound_value* const found = chain_walk::find(&label_key, root, {}, UINT32_MAX, chain_walk::read_own);
  const task_label none{};
  const auto* const label = static_cast<const task_label*>(found);
  const kind_source of = kind_source::of(static_cast<const strand&>(*root), label != nullptr ? *label : none,
                                         chain_walk::read_own);
  if (of.name != nullptr) return {{kind_word::text, reinterpret_cast<std::uintptr_t>(of.name)}, label};
  const auto* const resume = *static_cast<const void* const*>(of.frame);
  if (resume == nullptr) return {{}, label};
  return {{kind_word::resume, reinterpret_cast<std::uintptr_t>(resume)}, label};
}

void record_label(const task_label& label, engine_number of) noexcept {
  if (label.name != nullptr) record_name(label.name, of);
  if (!label.id) return;
  record_words(event_code::id, of, std::array<std::uint64_t, 3>{label.id.high, label.id.low});
}

} // namespace

void record_worker(const worker& seat, event_code what, std::uint64_t more) noexcept {
  record(what, seat.engine().number(), seat.id().value, nullptr, more);
}

task_kind kind_of(const task_header& t) noexcept { return labelled_kind_of(t).kind; }

void record_stolen(const task_chain& tasks, worker& victim, level distance) noexcept {
  record(event_code::stolen, victim.engine().number(), victim.id().value, identity_of(*tasks.first),
         std::uint64_t{tasks.size} << 8 | static_cast<std::uint64_t>(distance));
}

void record_begun(const task_header& t, engine_number of, worker_id on) noexcept {
  auto [kind, label] = labelled_kind_of(t);
  if (kind.how == kind_word::act) // asked now: when the trace is finished its module may be gone
    kind = {kind_word::text, reinterpret_cast<std::uintptr_t>(kind_of(t.act))};
  record(event_code::begun, of, on.value << 2 | static_cast<std::uint32_t>(kind.how), identity_of(t),
         kind.word);
  if (label != nullptr) record_label(*label, of);
}

} // namespace corewise::detail
