#include "workload.hpp"

#include <pools/corewise_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::blocking_mix::run<corewise::bench::corewise_pool>(count, words);
}
