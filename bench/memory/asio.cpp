#include "workload.hpp"

#include <pools/asio_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::memory::run<corewise::bench::asio_pool>(count, words);
}
