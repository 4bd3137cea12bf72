#pragma once

#include <corewise/engine/submit_result.hpp>

#include <cstdint>

// The names of the types that a user's headers mention, declared and not defined. A header that passes such
// types on includes this one; a source that uses a type includes the header that defines it.

namespace corewise {

// corewise/topology/ids.hpp
template <class Tag> struct id;
using group_id = id<struct group_tag>;
using worker_id = id<struct worker_tag>;
// corewise/topology/: topology.hpp, groups.hpp, workers.hpp, cpu_set.hpp
class topology;
class locality_groups;
class worker_layout;
class cpu_set;

// hint.hpp
enum class task_class : std::uint8_t;
struct trace_id;
struct placement_hint;
using hint = placement_hint;

// engine.hpp
class engine;
struct engine_hooks;
struct shutdown_report;
// Headers that engine.hpp includes: apply_result.hpp, blocking_full.hpp, deadline_expired.hpp, dump.hpp,
// future.hpp, metrics.hpp, profile.hpp, task.hpp, timer.hpp, trace.hpp
struct apply_result;
struct engine_dump;
struct engine_trace;
struct metrics_snapshot;
struct profile;
struct profile_issue;
class profile_error;
class trace_session;
class timer;
class not_run;
class deadline_expired;
class blocking_full;
template <class T> class future;
template <class T = void> class task;

// engine_set.hpp
class engine_set;

// load.hpp, request_meter.hpp
struct load_report;
class load_meter;
class request_meter;

// The standard library has some of these names, too; `scope` is final, and its destructor needs not be virtual.
// NOLINTBEGIN(bugprone-forward-declaration-namespace,cppcoreguidelines-virtual-class-destructor)
// Each in the header of its name; auto_reset_event in event.hpp, mutex_guard in mutex.hpp, and broken,
// oneshot_sender and oneshot_receiver in oneshot.hpp
class event;
class auto_reset_event;
class semaphore;
class mutex;
class mutex_guard;
class latch;
class barrier;
class scope;
class blocking_scope;
template <class T> class channel;
template <class T> class task_local;
class broken;
template <class T> class oneshot;
template <class T> class oneshot_sender;
template <class T> class oneshot_receiver;
template <class T> class group_local;
// NOLINTEND(bugprone-forward-declaration-namespace,cppcoreguidelines-virtual-class-destructor)

} // namespace corewise
