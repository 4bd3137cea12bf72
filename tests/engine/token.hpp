#pragma once

#include <atomic>

/// Counts its living copies.
struct token {
  explicit token(std::atomic<int>& n) : alive(&n) { alive->fetch_add(1); }
  token(const token& other) : token(*other.alive) {}
  token& operator=(const token&) = delete;
  ~token() { alive->fetch_sub(1); }
  std::atomic<int>* alive;
};
