#pragma once

#include <signal.h>

#include <array>
#include <cstddef>
#include <optional>

namespace corewise::detail {

/// The signals of an engine's threads. They block all signals but those that a thread causes by itself, those
/// of profilers and limits, and one that the engine asks for: so a program may block its own signals and wait
/// for them although it has made an engine before. The child of a process fork gets back what its thread has
/// of the engine: the signals, and the tie to CPUs.
class engine_signals {
 public:
  /// Notes the mask of the calling thread, which makes the engine, and its CPUs if the engine `ties` its
  /// threads. `asked`: the signal that the engine asks for.
  engine_signals(std::optional<int> asked, bool ties) noexcept;

  /// Blocks the signals in the calling thread as long as it lives: a thread that is started meanwhile begins
  /// with them blocked. Cost: two system calls.
  class blocked {
   public:
    explicit blocked(const engine_signals& signals) noexcept;
    blocked(const blocked&) = delete;
    blocked& operator=(const blocked&) = delete;
    ~blocked();

   private:
    sigset_t before_;
  };

  /// Gives the child of a process fork that the calling thread makes the mask and the CPUs of the thread that
  /// made the engine. Call from a thread of the engine, which this must outlive.
  void note_thread() const noexcept;
  /// Gives them to the calling thread. Calls nothing but the system.
  void give_back() const noexcept;

 private:
  static constexpr std::size_t most_cpus = 8192; // of a kernel for x86

  sigset_t makers_;
  sigset_t blocked_;
  std::array<unsigned char, most_cpus / 8> makers_cpus_{};
  long cpu_bytes_ = 0; // of these; 0: the engine ties no thread, or the kernel does not say
};

} // namespace corewise::detail
