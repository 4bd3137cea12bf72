#include "counting.hpp"
#include "kind.hpp"
#include "work_clock.hpp"

// The instructions of a thief.

namespace corewise::bench {

namespace {

constexpr std::uint64_t batch = 200; // fits into the ring of 256

/// Two workers. One fills its ring and stays in its task; the other has nothing, and takes one task at a
/// time.
class robbery {
 public:
  explicit robbery(engine& e) : e_(e) {}

  void run(std::uint64_t operations) {
    post(e_, [this] {
      arrived_.release();
      thief_waits();
    });
    arrived_.acquire();
    post(e_, [this, operations] { be_robbed(operations); }); // only the other worker is free
    over_.acquire();
    e_.drain();
    check(done_ == operations + 1);
  }

 private:
  void be_robbed(std::uint64_t operations) {
    spawn(); // stays in the LIFO slot, or the task after it does
    for (; operations != 0; operations -= batch) {
      for (std::uint64_t i = 0; i < batch; ++i) spawn();
      left_ = batch;
      go_on_.release();
      robbed_.acquire();
    }
    ended_ = true;
    go_on_.release();
    over_.release();
  }
  void spawn() {
    post(e_, [this] { one_ended(); });
  }

  void one_ended() {
    ++done_;
    if (ended_) return; // the one in the slot
    pass_operation();
    if (--left_ != 0) return;
    end_counting();
    robbed_.release();
    thief_waits();
  }
  void thief_waits() {
    go_on_.acquire();
    if (!ended_) begin_counting();
  }

  engine& e_;
  std::uint64_t left_ = 0;
  std::uint64_t done_ = 0;
  bool ended_ = false;
  std::binary_semaphore arrived_{0};
  std::binary_semaphore go_on_{0};
  std::binary_semaphore robbed_{0};
  std::binary_semaphore over_{0};
};

void run_steals(engine& e, std::uint64_t operations) { robbery(e).run(operations); }

} // namespace

const kind steal{
    "steal",
    "a worker that has nothing takes one task from the other's ring, from the end of its last one on", 2,
    10'000, run_steals};

} // namespace corewise::bench
