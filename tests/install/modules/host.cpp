// usage: host TIMES MODULE...
// Loads the modules, uses and unloads them, so many times. Prints what is wrong, and then ends with status 1.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

int faults = 0;

void want(bool right, const char* what) {
  if (right) return;
  std::printf("FAILED %s\n", what);
  ++faults;
}

/// Returns whether the process has `wanted` threads, or will have soon: the kernel lists a thread for a
/// moment after it was joined.
bool has_threads(long wanted) {
  for (int i = 0; i < 1000; ++i) {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    if (std::distance(threads, std::filesystem::directory_iterator()) == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return false;
}

/// Returns the resident memory in KiB.
long resident() {
  std::ifstream status("/proc/self/statm");
  long all = 0;
  long pages = 0;
  status >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

long mappings() {
  std::ifstream maps("/proc/self/maps");
  long lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

void use(const std::vector<const char*>& files, int mode) {
  std::vector<void*> modules;
  for (const char* file : files) {
    modules.push_back(dlopen(file, RTLD_NOW | mode));
    if (modules.back() == nullptr) {
      std::printf("FAILED %s\n", dlerror());
      std::exit(1);
    }
  }
  for (void* m : modules)
    want(reinterpret_cast<int (*)()>(dlsym(m, "use_engine"))() == 12, "the engine of a module works");
  // The other way round glibc would not use the thread-local memory of the first module again.
  for (auto m = modules.rbegin(); m != modules.rend(); ++m) dlclose(*m);
  for (const char* file : files)
    want(dlopen(file, RTLD_NOW | RTLD_NOLOAD) == nullptr, "a module without an engine is unloaded");
}

void unload_many_times(int times, const std::vector<const char*>& files, long threads) {
  long memory = 0;
  long maps = 0;
  for (int i = 0; i < times && faults == 0; ++i) {
    use(files, i % 2 == 0 ? RTLD_LOCAL : RTLD_GLOBAL);
    want(has_threads(threads), "no thread is left");
    struct sigaction urgent{};
    want(sigaction(SIGURG, nullptr, &urgent) == 0 && urgent.sa_handler == SIG_DFL,
         "no signal handler is left");
    if (i != times / 2) continue;
    memory = resident(); // by then the libraries have what they keep
    maps = mappings();
  }
  want(resident() < memory + 1024, "memory stays as it is");
  want(mappings() < maps + 8, "mappings stay as they are");
}

/// Thread-local memory that the loader keeps for modules is left for others, such as libgomp.
void load_beside(const std::vector<const char*>& files) {
  for (const char* file : files) want(dlopen(file, RTLD_NOW) != nullptr, "the modules are loaded");
  if (dlopen("libgomp.so.1", RTLD_NOW) != nullptr) return;
  const std::string why = dlerror();
  const bool absent = why.find("No such file") != std::string::npos;
  want(absent, why.c_str());
  if (absent) std::printf("skipped: there is no libgomp here\n");
}

} // namespace

int main(int argc, char** argv) {
  const int times = std::atoi(argv[1]);
  const std::vector<const char*> files(argv + 2, argv + argc);
  unload_many_times(times, files, 1);
  std::thread([&] { unload_many_times(2, files, 2); }).join(); // and by a thread that ends afterwards
  const pid_t child = fork();                                  // calls no handler of a module that is gone
  if (child == 0) _exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  want(status == 0, "a process fork works afterwards");
  load_beside(files);
  return faults == 0 ? 0 : 1;
}
