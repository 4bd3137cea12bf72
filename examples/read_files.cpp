// Files are read by calls that block. A task that makes such a call says so, and a spare thread takes the
// worker if the call lasts. So a few workers read many files at a time, and go on with everything else
// meanwhile.
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/when_all.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using std::filesystem::path;

std::string contents(const path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// In a coroutine: after the call it goes on on a worker, wherever the call was made.
corewise::task<std::size_t> count_lines(path file) {
  const std::string text = co_await corewise::run_blocking([&] { return contents(file); });
  co_return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// In a plain task: the thread that made the call finishes the task.
std::size_t count_bytes(const std::vector<path>& files) {
  std::vector<std::size_t> bytes(files.size());
  corewise::blocking_scope reading;
  for (std::size_t i = 0; i < files.size(); ++i)
    reading.fork([&, i] {
      const std::string text = corewise::blocking([&] { return contents(files[i]); });
      bytes[i] = text.size();
    });
  reading.wait();
  std::size_t sum = 0;
  for (const std::size_t b : bytes) sum += b;
  return sum;
}

} // namespace

int main() {
  const path folder = std::filesystem::temp_directory_path() / ("corewise-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::vector<path> files;
  for (int i = 0; i < 20; ++i) {
    files.push_back(folder / std::to_string(i));
    std::ofstream out(files.back());
    for (int line = 0; line <= i; ++line) out << "line\n";
  }

  corewise::engine engine;
  std::vector<corewise::task<std::size_t>> counts;
  for (const path& file : files) counts.push_back(count_lines(file));
  const auto all_lines = [](std::vector<corewise::task<std::size_t>> each) -> corewise::task<std::size_t> {
    std::size_t sum = 0;
    const std::vector<std::size_t> lines = co_await corewise::when_all(std::move(each));
    for (const std::size_t n : lines) sum += n;
    co_return sum;
  };
  const std::size_t lines = sync_wait(engine, all_lines(std::move(counts)));
  const std::size_t bytes = engine.run([&] { return count_bytes(files); }).get();
  std::printf("%zu lines and %zu bytes in %zu files\n", lines, bytes, files.size());
  std::filesystem::remove_all(folder);
}
