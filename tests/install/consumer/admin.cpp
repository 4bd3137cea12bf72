// A program outside the project that uses the component `admin`.
#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>

#include <cstdio>

int main() {
  corewise::engine e;
  corewise::admin::options o;
  o.read_only = "127.0.0.1:0";
  const corewise::admin::server server(e, o);
  std::printf("it answers: %s\n", server.port() != 0 ? "yes" : "no");
}
