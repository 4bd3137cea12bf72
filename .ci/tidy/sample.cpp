// What clang-tidy finds with the plugin: the stage `tidy` expects an error in each line that names its check.
#include <string>
#include <utility>
#include <vector>

namespace corewise::sample {

template <class Value> struct holder {
  Value value_;
  virtual ~holder() = default;
  virtual const Value* find() const { return 0; } // modernize-use-nullptr
};

struct BadName : holder<int> { // readability-identifier-naming
  const int* find() const;     // modernize-use-override
};

inline std::string moved_twice(std::string text) {
  std::vector<std::string> all;
  all.push_back(std::move(text));
  return text; // bugprone-use-after-move
}

inline bool is_vacant(const std::string& text) {
  return text.size() == 0; // readability-container-size-empty
}

inline int read_null(const int* from) {
  if (from != nullptr) return 0;
  return *from; // clang-analyzer-core.NullDereference
}

} // namespace corewise::sample
