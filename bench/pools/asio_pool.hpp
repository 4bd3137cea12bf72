#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <contender.hpp>

#include <string>
#include <utility>

namespace corewise::bench {

/// `boost::asio::thread_pool`, used by `boost::asio::post`.
class asio_pool {
 public:
  static constexpr std::string_view name = "asio";

  explicit asio_pool(const options& o) : pool_(o.workers) {}
  asio_pool(const asio_pool&) = delete;
  asio_pool& operator=(const asio_pool&) = delete;
  ~asio_pool() { pool_.join(); }

  std::string profile() const { return {}; }

  template <class F> void post(F&& f) { boost::asio::post(pool_, std::forward<F>(f)); }
  template <class F> void spawn(F&& f) { post(std::forward<F>(f)); }
  /// In a task: calls f, which blocks.
  template <class F> void blocking(F&& f) { std::forward<F>(f)(); }

 private:
  boost::asio::thread_pool pool_;
};

} // namespace corewise::bench
