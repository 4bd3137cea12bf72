#include "workload.hpp"

#include <pools/tbb_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::open_loop::run<corewise::bench::tbb_pool>(count, words);
}
