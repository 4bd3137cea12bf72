// Nothing comes before it: a header may include no more than this.
#include <corewise/engine/fwd.hpp>

/// Declares a use of each type that fwd.hpp names.
struct forward_user {
  static corewise::engine make(corewise::profile p, corewise::engine_hooks hooks);
  static corewise::submit_result submit(corewise::engine& on, const corewise::hint& wish);
  static corewise::task<> walk(corewise::channel<int>& from, corewise::oneshot<int>& to);
  static void carry(corewise::oneshot_sender<int>& s, corewise::oneshot_receiver<int>& r,
                    const corewise::broken& b);
  static corewise::task<int> add(corewise::scope& within, corewise::group_local<int>& sums);
  static corewise::future<int> ask(corewise::engine& on, corewise::task_class as);
  static void wait(corewise::event& e, corewise::auto_reset_event& a, corewise::semaphore& s);
  static void meet(corewise::latch& l, corewise::barrier& b, corewise::blocking_scope& s);
  static corewise::mutex_guard lock(corewise::mutex& m);
  static corewise::timer beat(corewise::engine& on);
  static corewise::worker_id first_of(const corewise::worker_layout& workers, corewise::group_id g);
  static const corewise::cpu_set& cpus(const corewise::topology& machine);
  static corewise::group_id last(const corewise::locality_groups& groups);
  static void look(const corewise::metrics_snapshot& m, const corewise::engine_dump& d);
  static void end(const corewise::shutdown_report& r, const corewise::apply_result& a);
  static void fail(const corewise::profile_error& e, const corewise::profile_issue& i);
  static void end(const corewise::not_run& n, const corewise::deadline_expired& d);

  static corewise::load_report load(corewise::load_meter& of, const corewise::request_meter& requests);

  corewise::engine* engine = nullptr;
};

#include "small_engine.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/group_local.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/load.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>

#include <doctest/doctest.h>

using namespace corewise;

// These define functions that were declared with the forward declarations: the types are the same.
submit_result forward_user::submit(corewise::engine& on, const hint& wish) {
  return on.submit([] {}, wish);
}
task<int> forward_user::add(scope& /*within*/, group_local<int>& /*sums*/) { co_return 3; }
future<int> forward_user::ask(corewise::engine& on, task_class as) {
  return on.run([] { return 4; }, hint{.run_as = as});
}
worker_id forward_user::first_of(const worker_layout& workers, group_id g) {
  return workers.of_group(g).front().id;
}
const cpu_set& forward_user::cpus(const topology& machine) { return machine.cpus(); }

TEST_CASE("fwd: the other headers define the types that a header declares with it") {
  engine e(small_profile(1));
  CHECK(forward_user::submit(e, no_hint) == submit_result::accepted);
  CHECK(forward_user::ask(e, task_class::latency).get() == 4);
  CHECK(forward_user::first_of(e.workers(), first_group) == worker_id{0});
  CHECK_FALSE(forward_user::cpus(e.machine()).empty());
  e.drain();
}
