#pragma once

#include "base/fence.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <memory>

// Workers that look for work, counted by domain; and how a thread asks them to look at other domains as
// well.
//
// Invariant: where a thread has relied on the searchers of a domain for work of another domain, the last of
// them to leave finds the thread's request, unless the thread has seen that none searches.
//
// By rule 2 (wake_ups.hpp) the last searcher looks at its own domain only. Three threads rely on the
// searchers of a domain for tasks of another domain, and ask them to look there too. One is a producer
// that finds them where it would wake a sleeper. One is a producer that wakes a sleeper there, since more
// may wait than one worker takes. One is a searcher that goes to sleep before they do.
//
//     thread that asks                            the last searcher of domain B, with work
//     F1  push: task put in domain A, P2; or      G1  leave the searchers of B
//         lie down in B: parked bit set, W2       G2  no worker searches B, and B's mark is there:
//     F2  mark B; no worker searches B: wake              take it back, full fence
//         one there, or look everywhere itself    G3  look at domains that no worker searches; work
//                                                     for B: mark B, wake a sleeper there or farther out
//
// The mark is a bit of the word that counts searchers. If the mark comes before the last searcher has left,
// that searcher finds it at G2, or leaves it to a worker that has begun to search meanwhile. If it comes
// later, F2 sees that no worker searches. A mark that is there already serves as well: a searcher takes it
// back after F2 has seen it, so G3 sees the task, or the producer sees the sleeper's bit. The last searcher
// that finds nothing takes the mark back too, at W3; if it then sees something, it marks B again, since it
// may find something else. With one domain no thread asks. tests/model/farther.pml proves it, and that it
// fails when any of the three does not ask, with the mark in another word, and when the mark is taken back
// after the look.
//
// Rejected: one count of searchers for the machine (searchers would drag work across packages); a mark in a
// word of its own (it takes a fence and another look at the searchers); that each last searcher that finds
// work looks at all domains (it reads the queues of the whole machine before it runs its task).
//
// | tag    | release site         | acquire site         | publishes              | weakened                   |
// |--------|----------------------|----------------------|------------------------|----------------------------|
// | F2, G2 | the mark: fetch_or,  | the mark: CAS,       | nothing; order only:   | work waits beside sleepers |
// |        | or seen behind P2    | full_fence (seq_cst) | the mark, queues, bits | of another domain          |

namespace corewise::detail {

class searchers {
 public:
  explicit searchers(std::size_t domains) : domains_(std::make_unique<state[]>(domains)) {}

  /// At most `workers` of the domain may search from now on. Call from one thread at a time.
  void set_most(std::uint32_t domain, std::uint32_t workers) noexcept {
    domains_[domain].most.store(one_searcher * workers, std::memory_order_relaxed);
  }

  bool any(std::uint32_t domain) const noexcept {
    return counts_any(domains_[domain].word.load(std::memory_order_relaxed));
  }
  /// Joins the searchers, unless enough workers search. Returns whether it did. Two workers may join at
  /// once and exceed the bound by one for a moment: the bound is a matter of cost, not of correctness.
  bool try_join(std::uint32_t domain) noexcept {
    const state& s = domains_[domain];
    if (s.word.load(std::memory_order_relaxed) >= s.most.load(std::memory_order_relaxed)) return false;
    join(domain);
    return true;
  }
  /// Counts one more searcher. A waker does so for the sleeper that it wakes.
  void join(std::uint32_t domain) noexcept {
    domains_[domain].word.fetch_add(one_searcher, std::memory_order_seq_cst); // pairs: P2, W2
  }
  /// Counts one searcher fewer. Returns whether it was the last.
  bool leave(std::uint32_t domain) noexcept {
    return domains_[domain].word.fetch_sub(one_searcher, std::memory_order_seq_cst) < // pairs: P2, W2
           2 * one_searcher;
  }

  /// Step F2: asks the domain's searchers to look after other domains as well. Returns false if no worker
  /// searches.
  bool ask_to_look_elsewhere(std::uint32_t domain) noexcept {
    atomic<std::uint32_t>& word = domains_[domain].word;
    std::uint32_t now = word.load(std::memory_order_relaxed);
    if ((now & asked) == 0) now = word.fetch_or(asked, std::memory_order_seq_cst); // pairs: F2, G2
    return counts_any(now);
  }
  /// Step G2: takes the request back. Returns whether there was one and no worker searches.
  bool take_request(std::uint32_t domain) noexcept {
    return domains_[domain].word.load(std::memory_order_relaxed) == asked && clear_request(domain);
  }

 private:
  // The two parts of the word.
  static constexpr std::uint32_t asked = 1;
  static constexpr std::uint32_t one_searcher = 2;
  static bool counts_any(std::uint32_t word) noexcept { return word >= one_searcher; }

  /// Returns false if a worker searches there by now, or another thread has taken the request.
  [[gnu::noinline]] bool clear_request(std::uint32_t domain) noexcept {
    std::uint32_t word = asked;
    if (!domains_[domain].word.compare_exchange_strong(word, 0, std::memory_order_seq_cst)) // pairs: F2, G2
      return false;
    full_fence();
    return true;
  }

  struct alignas(128) state {
    atomic<std::uint32_t> word{0};
    atomic<std::uint32_t> most{one_searcher}; // relaxed: a bound
  };
  std::unique_ptr<state[]> domains_;
};

} // namespace corewise::detail
