#pragma once

#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

// What the servers of bench/http share: the same requests get the same answers, by the same code.

namespace http_bench {

namespace http = boost::beast::http;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

/// Keeps a core busy.
inline void compute_for(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

inline const std::string& json() {
  static const std::string text = [] {
    std::string all = "[";
    while (all.size() < 2000) all += R"({"name":"corewise","number":12345},)";
    all.back() = ']';
    return all;
  }();
  return text;
}

/// What a request asks for: `/compute` computes for 2 ms, `/block` blocks for 5 ms. One in a hundred of `/mixed` computes,
/// one in ten of `/blocking` blocks.
enum class work : std::uint8_t { hello, json, compute, block };
inline work work_of(const request& asked) {
  thread_local std::uint32_t turn = 0;
  const auto target = asked.target();
  if (target == "/json") return work::json;
  if (target == "/mixed") return ++turn % 100 == 0 ? work::compute : work::hello;
  if (target == "/blocking") return ++turn % 10 == 0 ? work::block : work::hello;
  if (target == "/compute") return work::compute;
  if (target == "/block") return work::block;
  return work::hello;
}

inline response answer(const request& asked, work what) {
  response res(http::status::ok, asked.version());
  res.set(http::field::content_type, "text/plain");
  res.keep_alive(asked.keep_alive());
  if (what == work::compute) compute_for(std::chrono::milliseconds(2));
  res.body() = what == work::json ? json() : "hello\n";
  res.prepare_payload();
  return res;
}

inline void block() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

struct options {
  std::uint16_t port = 0;
  unsigned threads = 2;
};
/// PORT [THREADS]
inline options parse(int argc, char** argv) {
  options o;
  if (argc > 1) o.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  if (argc > 2) o.threads = static_cast<unsigned>(std::atoi(argv[2]));
  return o;
}

} // namespace http_bench
