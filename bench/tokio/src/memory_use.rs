//! The memory of this process, as the kernel and the C library report it.

use std::ffi::c_void;

#[repr(C)]
struct ThreadAttributes([u64; 7]);

#[repr(C)]
#[derive(Default)]
struct MallocInfo {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut ThreadAttributes) -> i32;
    fn pthread_attr_getstack(attributes: *const ThreadAttributes, begin: *mut *mut c_void, bytes: *mut usize) -> i32;
    fn pthread_attr_destroy(attributes: *mut ThreadAttributes) -> i32;
    fn mincore(begin: *mut c_void, bytes: usize, pages: *mut u8) -> i32;
    fn mallinfo2() -> MallocInfo;
}

/// Returns the resident bytes, by a walk through the pages: the counters that are quicker to read are not
/// exact.
pub fn resident_bytes() -> f64 {
    let lines = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let rss = lines.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    1024.0 * rss.trim().trim_end_matches(" kB").parse::<f64>().unwrap()
}

/// Returns the bytes that malloc has given out; 0 with another malloc than the C library's, since they are
/// not known.
pub fn heap_bytes() -> f64 {
    if std::env::var("LD_PRELOAD").map_or(false, |other| !other.is_empty()) {
        return 0.0;
    }
    // SAFETY: the C library returns the structure by value.
    let of = unsafe { mallinfo2() };
    (of.uordblks + of.hblkhd) as f64
}

/// Returns the beginning of this thread's stack, and its bytes.
pub fn stack_of_this_thread() -> (usize, usize) {
    let mut attributes = ThreadAttributes([0; 7]);
    let (mut begin, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the structure is as large as that of 64-bit Linux, and the calls fill in what they are given.
    unsafe {
        assert_eq!(pthread_getattr_np(pthread_self(), &mut attributes), 0);
        pthread_attr_getstack(&attributes, &mut begin, &mut bytes);
        pthread_attr_destroy(&mut attributes);
    }
    (begin as usize, bytes)
}

pub fn resident_of((begin, bytes): (usize, usize)) -> f64 {
    const PAGE: usize = 4096;
    let mut pages = vec![0u8; bytes / PAGE];
    // SAFETY: `pages` has a byte for each page of the stack, whose thread is alive.
    assert_eq!(unsafe { mincore(begin as *mut c_void, pages.len() * PAGE, pages.as_mut_ptr()) }, 0);
    (PAGE * pages.iter().filter(|p| *p & 1 != 0).count()) as f64
}
