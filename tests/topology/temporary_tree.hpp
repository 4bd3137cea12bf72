#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace corewise::tests {

/// A folder that lives as long as this object, for recorded /proc and /sys trees.
class temporary_tree {
 public:
  temporary_tree() {
    auto pattern = (std::filesystem::temp_directory_path() / "corewise-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    root_ = pattern;
  }
  temporary_tree(temporary_tree&& other) noexcept : root_(std::exchange(other.root_, {})) {}
  temporary_tree& operator=(temporary_tree&&) = delete;
  ~temporary_tree() {
    if (root_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  const std::filesystem::path& root() const { return root_; }

  std::filesystem::path write(const std::string& file, const std::string& content) const {
    const auto path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::filesystem::path root_;
};

} // namespace corewise::tests
