#include "company.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/semaphore.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <deque>
#include <memory>
#include <string>

// Any sequence of steps with a semaphore or a channel, on one thread and without an engine, gives the same
// answers in the same order as a plain queue of waiters.

using namespace corewise;
using namespace corewise::tests;

namespace {

struct plain_semaphore {
  std::size_t permits = 0;
  std::deque<std::size_t> waiting;
  std::string said;

  void acquire(std::size_t who) {
    if (permits == 0) return waiting.push_back(who);
    --permits;
    said += said_by(who, "got");
  }
  void release(std::size_t n) {
    for (; n != 0 && !waiting.empty(); --n) {
      said += said_by(waiting.front(), "got");
      waiting.pop_front();
    }
    permits += n;
  }
  bool leave(std::size_t who) { return std::erase(waiting, who) != 0; }
};

struct plain_channel {
  std::size_t room = 0;
  bool closed = false;
  std::deque<std::size_t> values; // first the values in the buffer, then those of `senders`
  std::deque<std::size_t> senders;
  std::deque<std::size_t> receivers;
  std::string said;

  void send(std::size_t who) {
    if (closed) {
      said += said_by(who, "refused");
    } else if (!receivers.empty()) {
      said += said_by(receivers.front(), "got" + std::to_string(who)) + said_by(who, "sent");
      receivers.pop_front();
    } else {
      values.push_back(who);
      if (values.size() > room)
        senders.push_back(who);
      else
        said += said_by(who, "sent");
    }
  }
  void receive(std::size_t who) {
    if (values.empty() && !closed) return receivers.push_back(who);
    std::string what = "nothing";
    if (!values.empty()) {
      what = "got" + std::to_string(values.front());
      values.pop_front();
      if (!senders.empty()) {
        said += said_by(senders.front(), "sent");
        senders.pop_front();
      }
    }
    said += said_by(who, what);
  }
  void leave(std::size_t who, bool says) {
    if (std::erase(receivers, who) != 0 && says) said += said_by(who, "nothing");
    if (std::erase(senders, who) == 0) return;
    std::erase(values, who);
    if (says) said += said_by(who, "refused");
  }
  void close() {
    closed = true;
    for (const std::size_t r : receivers) said += said_by(r, "nothing");
    for (const std::size_t s : senders) said += said_by(s, "refused"), std::erase(values, s);
    receivers.clear();
    senders.clear();
  }
};

} // namespace

TEST_CASE("semaphore: any sequence of operations has the effect that it has on a number and a queue") {
  CHECK(rc::check([](const steps& all) {
    semaphore real(0);
    plain_semaphore plain;
    company people;
    const auto acquires = [&](std::stop_token stop, std::size_t who) -> task<> {
      const bool got = co_await real.acquire(std::move(stop));
      people.said += said_by(who, got ? "got" : "stopped");
    };
    for (const auto& [kind, which] : all) {
      const std::size_t who = people.next() == 0 ? 0 : which % people.next();
      switch (people.next() == 0 ? 0 : static_cast<unsigned>(kind) % 8) {
      case 1:
        people.stop(who);
        if (plain.leave(who)) plain.said += said_by(who, "stopped");
        break;
      case 2:
        people.destroy(who);
        plain.leave(who);
        break;
      case 3: RC_ASSERT(real.try_acquire() == (plain.permits != 0 && plain.permits-- != 0)); break;
      case 4:
      case 5:
        real.release(static_cast<std::uint32_t>(which % 4));
        plain.release(which % 4);
        break;
      default: plain.acquire(people.next()), people.join(acquires);
      }
      RC_ASSERT(people.said == plain.said);
      RC_ASSERT(real.available() == plain.permits);
    }
  }));
}

TEST_CASE("channel: any sequence of operations has the effect that it has on a queue of values and two "
          "queues of waiters") {
  CHECK(rc::check([](const steps& all) {
    plain_channel plain;
    plain.room = *rc::gen::inRange<std::size_t>(0, 4);
    channel<std::unique_ptr<std::size_t>> real(plain.room);
    company people;
    const auto sends = [&](std::stop_token stop, std::size_t who) -> task<> {
      const bool sent = co_await real.send(std::make_unique<std::size_t>(who), std::move(stop));
      people.said += said_by(who, sent ? "sent" : "refused");
    };
    const auto receives = [&](std::stop_token stop, std::size_t who) -> task<> {
      const auto value = co_await real.receive(std::move(stop));
      people.said += said_by(who, value ? "got" + std::to_string(**value) : "nothing");
    };
    for (const auto& [kind, which] : all) {
      const std::size_t who = people.next() == 0 ? 0 : which % people.next();
      switch (people.next() == 0 ? 0 : static_cast<unsigned>(kind) % 32) {
      case 1:
      case 2:
        people.stop(who);
        plain.leave(who, true);
        break;
      case 3:
      case 4:
        people.destroy(who);
        plain.leave(who, false);
        break;
      case 5:
        real.close();
        plain.close();
        break;
      default:
        if (which % 2 == 0)
          plain.send(people.next()), people.join(sends);
        else
          plain.receive(people.next()), people.join(receives);
      }
      RC_ASSERT(people.said == plain.said);
      RC_ASSERT(real.closed() == plain.closed);
    }
  }));
}
