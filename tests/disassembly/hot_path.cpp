#include <corewise/engine/engine.hpp>

// Never run: what is linked here is disassembled.
int main() {
  corewise::engine e;
  return e.submit([] {}) == corewise::submit_result::accepted ? 0 : 1;
}
