//! CPU time, in ns, as the kernel counts it.

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, at: *mut Timespec) -> i32;
}
const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

fn used_ns(clock: i32) -> i64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library writes the structure, which is laid out as on 64-bit Linux.
    unsafe { clock_gettime(clock, &mut t) };
    t.seconds * 1_000_000_000 + t.nanoseconds
}

pub fn of_this_thread_ns() -> i64 {
    used_ns(CLOCK_THREAD_CPUTIME_ID)
}

/// Works for this much of the thread's CPU time, however often the kernel interrupts it.
pub fn work(ns: i64) {
    let until = of_this_thread_ns() + ns;
    while of_this_thread_ns() < until {}
}

pub fn of_the_process_ns() -> i64 {
    used_ns(CLOCK_PROCESS_CPUTIME_ID)
}
