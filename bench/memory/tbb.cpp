#include "workload.hpp"

#include <pools/tbb_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::memory::run<corewise::bench::tbb_pool>(count, words);
}
