#include "workload.hpp"

#include <pools/asio_pool.hpp>

int main(int count, char** words) {
  return corewise::bench::spawn_many_local::run<corewise::bench::asio_pool>(count, words);
}
