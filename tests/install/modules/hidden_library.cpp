// A library whose names are hidden, but for one. The whole of corewise is in it.
#include <corewise/engine/engine.hpp>

[[gnu::visibility("default")]] corewise::engine& engine_of_library();

corewise::engine& engine_of_library() {
  static corewise::engine e;
  return e;
}
