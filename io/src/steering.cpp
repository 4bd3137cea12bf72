#include <corewise/io/detail/steering.hpp>

#include <linux/bpf_common.h>

namespace corewise::io::detail {

namespace {

constexpr std::uint32_t no_socket = 0xffff'ffff; // the kernel chooses by a hash

constexpr sock_filter statement(unsigned code, std::uint32_t k) noexcept {
  return {static_cast<std::uint16_t>(code), 0, 0, k};
}
constexpr sock_filter jump(unsigned code, std::uint32_t k, std::uint8_t if_true,
                           std::uint8_t if_false) noexcept {
  return {static_cast<std::uint16_t>(code), if_true, if_false, k};
}

} // namespace

std::vector<sock_filter> steering_program(const std::vector<cpu_range>& ranges) {
  std::vector<sock_filter> program;
  program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_CPU)));
  for (const cpu_range& r : ranges) {
    program.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, r.first, 0, 2)); // below this range: the next one
    program.push_back(jump(BPF_JMP | BPF_JGT | BPF_K, r.last, 1, 0));
    program.push_back(statement(BPF_RET | BPF_K, r.socket));
  }
  program.push_back(statement(BPF_RET | BPF_K, no_socket));
  if (program.size() > BPF_MAXINSNS) program.clear();
  return program;
}

} // namespace corewise::io::detail
