#include "workload.hpp"

#include <pools/c_reference.hpp>

int main(int count, char** words) {
  using namespace corewise::bench;
  return outside::run<c_reference<cursors::apart>>(count, words);
}
