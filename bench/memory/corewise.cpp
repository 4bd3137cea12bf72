#include "workload.hpp"

#include <pools/corewise_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::memory::run<corewise::bench::corewise_pool>(count, words);
}
