#include "workload.hpp"

#include <pools/mutex_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::busy::run<corewise::bench::mutex_pool>(count, words);
}
