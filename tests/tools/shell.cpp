#include "shell.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COREWISE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COREWISE_SANITIZED 1
#endif
#endif

namespace corewise::tests {

namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

} // namespace

const std::string two_sockets = R"(source: {synthetic: "pack:2 numa:1 l3:1 core:16 pu:1"}
kinds:
  - {cpus: "0-7,16-23", name: P, capacity: 1024}
  - {cpus: "8-15,24-31", name: E, capacity: 512}
)";

scratch_shell::scratch_shell() {
  std::string name = (fs::temp_directory_path() / "corewise-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
  directory_ = name;
  fs::create_directory(directory_ / "work");
  fs::permissions(directory_, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
}

scratch_shell::~scratch_shell() {
  // Uses rm for trees that are deeper than a path may be long
  (void)std::system(("rm -rf '" + directory_.string() + "'").c_str());
}

outcome scratch_shell::run(const std::string& script) const {
  std::ofstream(directory_ / "script") << script << '\n';
  const std::string at = directory_.string();
  const std::string line = "cd '" + at + "/work' && PATH='" COREWISE_BIN_DIRECTORY "':$PATH LC_ALL=C bash '" +
                           at + "/script' >'" + at + "/out' 2>'" + at + "/err' </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(directory_ / "out"),
          read(directory_ / "err")};
}

void scratch_shell::write(const std::string& name, const std::string& text) const {
  std::ofstream(directory_ / "work" / name, std::ios::binary) << text;
}

outcome run(const std::string& script) { return scratch_shell().run(script); }

std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

std::size_t count_of(const std::string& what, const std::string& text) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

bool sanitized() {
#ifdef COREWISE_SANITIZED
  return true;
#else
  return false;
#endif
}

} // namespace corewise::tests
