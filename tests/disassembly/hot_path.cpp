#include <corewise/engine/engine.hpp>

// Never run: `check` disassembles the code that is linked here.
int main() {
  corewise::engine e;
  return e.submit([] {}) == corewise::submit_result::accepted ? 0 : 1;
}
