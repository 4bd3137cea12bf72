#include "words.hpp"
#include "workload_keys.hpp"

#include <corewise/simulator/workload.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace corewise {

namespace {

using namespace simulated_words;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Reads one text, and gathers its errors.
class workload_reader {
 public:
  workload read(std::string_view text) {
    result_.text = trimmed(text);
    std::size_t end = text.find(',');
    read_kind(trimmed(text.substr(0, end)));
    while (end != std::string_view::npos) {
      text.remove_prefix(end + 1);
      end = text.find(',');
      read_entry(trimmed(text.substr(0, end)));
    }
    check_together();
    if (!problems_.empty()) throw workload_error(fmt::format("{}", fmt::join(problems_, "\n")));
    return std::move(result_);
  }

 private:
  void complain(std::string_view where, std::string_view found, std::string_view right) {
    problems_.push_back(fmt::format("{}: found {}; expected {}", where, found, right));
  }

  void read_kind(std::string_view word) {
    std::vector<std::string_view> names;
    for (const workload_kind_word& k : workload_kinds()) {
      names.push_back(k.name);
      if (word == k.name) kind_ = &k;
    }
    if (kind_ != nullptr)
      result_.shape = kind_->kind;
    else
      complain("workload", in_quotes(word), "one of " + joined(names) + suggestion(word, names));
  }

  void read_entry(std::string_view entry) {
    if (entry.empty()) return complain("workload", "nothing after a comma", "KEY=VALUE");
    const std::size_t equals = entry.find('=');
    const std::string_view name = trimmed(entry.substr(0, equals));
    const auto key = std::ranges::find(workload_keys(), name, &workload_key::name);
    if (key == workload_keys().end()) return refuse_unknown(name);
    if (!belongs(*key))
      return complain(name, fmt::format("a key that {} does not use", kind_->name), expected_keys());
    if (given(name)) return complain(name, "it twice", "it once");
    given_.push_back(name);
    read_value(*key, equals == std::string_view::npos ? std::optional<std::string_view>{}
                                                      : trimmed(entry.substr(equals + 1)));
  }

  void read_value(const workload_key& key, std::optional<std::string_view> value) {
    if (key.is_flag && value) return complain(key.name, in_quotes(*value), "the word alone, without a value");
    const std::string right = key.read(result_, value.value_or(""));
    if (!right.empty()) complain(key.name, value ? in_quotes(*value) : "no value", right);
  }

  void refuse_unknown(std::string_view name) {
    const std::vector<std::string_view> names = names_of_keys();
    complain(in_quotes(name), "an unknown key", expected_keys() + suggestion(name, names));
  }

  bool belongs(const workload_key& key) const {
    return kind_ == nullptr || (key.kinds & bit_of(kind_->kind)) != 0;
  }
  bool given(std::string_view name) const { return std::ranges::find(given_, name) != given_.end(); }

  std::vector<std::string_view> names_of_keys() const {
    std::vector<std::string_view> names;
    for (const workload_key& key : workload_keys())
      if (belongs(key)) names.push_back(key.name);
    return names;
  }
  std::string expected_keys() const { return "one of " + joined(names_of_keys()); }

  /// Checks values that are right each for itself, but not together.
  void check_together() {
    if (kind_ == nullptr) return;
    const workload& w = result_;
    const bool traced = w.shape == workload::kind::trace;
    if (traced && !given("file")) complain("file", "no trace", "file=PATH");
    if (given("load") && given("rate")) complain("load", "both load and rate", "one of the two");
    if (w.hinted && w.homes == workload::data::none && !traced)
      complain("hinted", "data=none", "data=submitter, data=random or data=node:N with it");
    if (w.near_data && !traced && (w.homes == workload::data::none || w.homes == workload::data::submitter))
      complain("near-data", "data=none or data=submitter", "data=random or data=node:N with it");
    if (w.near_data && w.submitted != workload::from::outside)
      complain("near-data", "from=" + std::string(w.submitted == workload::from::cpu ? "cpu" : "worker"),
               "from=outside with it");
    if (w.shape == workload::kind::fork_join && tree_size(w.depth, w.fanout) > largest_tree)
      complain("depth", fmt::format("trees of depth {} and fanout {}", w.depth, w.fanout),
               fmt::format("trees of at most {} tasks", largest_tree));
  }

  workload result_;
  const workload_kind_word* kind_ = nullptr;
  std::vector<std::string_view> given_;
  std::vector<std::string> problems_;
};

} // namespace

workload parse_workload(std::string_view text) { return workload_reader().read(text); }

std::string describe(const workload& w) {
  std::string text(std::ranges::find(workload_kinds(), w.shape, &workload_kind_word::kind)->name);
  for (const workload_key& key : workload_keys()) {
    if ((key.kinds & bit_of(w.shape)) == 0) continue;
    const std::optional<std::string> value = key.write(w);
    if (value) text += fmt::format(",{}{}{}", key.name, key.is_flag ? "" : "=", *value);
  }
  return text;
}

double mean_work_ns(const workload& w) noexcept {
  if (w.shape == workload::kind::trace) return 0;
  const bool trees = w.shape == workload::kind::fork_join;
  return w.service.mean() * (trees ? static_cast<double>(tree_size(w.depth, w.fanout)) : 1);
}

} // namespace corewise
