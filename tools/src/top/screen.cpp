#include "screen.hpp"

#include "../streams.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace corewise::command {

using namespace std::chrono;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view enter = "\033[?1049h\033[?25l\033[?7l"; // another screen; no cursor, no wrapping
constexpr std::string_view leave = "\033[?7h\033[?25h\033[?1049l";
constexpr std::array<int, 4> ending{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Signal handlers use these. They are written while no handler is installed.
termios settings_before;
bool has_settings = false;
volatile std::sig_atomic_t draw_again = 0;

void say(std::string_view text) { static_cast<void>(::write(STDOUT_FILENO, text.data(), text.size()) + 1); }

/// Takes keys without a line's end, and shows them not. Call from signal handlers as well.
void begin() {
  if (has_settings) {
    termios raw = settings_before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  say(enter);
}

void end() {
  say(leave);
  if (has_settings) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &settings_before);
}

/// Sets the handler of a signal, unless the process was told to ignore the signal.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

void on_end(int signal) {
  end();
  handle(signal, SIG_DFL);
  ::raise(signal); // when this returns
}

void on_stop(int /*signal*/) {
  const int error = errno;
  end();
  ::raise(SIGSTOP);
  begin();
  draw_again = 1;
  errno = error;
}

void on_resize(int /*signal*/) { draw_again = 1; }

/// Returns the length of the escape sequence at the front, which is of no known key; 0: a part of it has not
/// come yet.
std::size_t unknown_sequence(std::string_view typed) {
  if (typed.size() == 1) return 0;
  if (typed[1] == 'O') return typed.size() > 2 ? 3 : 0;
  if (typed[1] != '[') return 1; // the key Esc, before another one
  const auto is_parameter = [](char c) { return c >= ' ' && c <= '?'; };
  const auto last = std::ranges::find_if_not(typed.substr(2), is_parameter) - typed.begin();
  return static_cast<std::size_t>(last) < typed.size() ? static_cast<std::size_t>(last) + 1 : 0;
}

/// Takes the first known key, and what is before it, off the front of what was typed. Returns `none` if there
/// is none.
key take_key(std::string& typed) {
  static constexpr std::array<std::pair<std::string_view, key>, 13> known{{
      {"q", key::quit},
      {"Q", key::quit},
      {"k", key::up},
      {"\033[A", key::up},
      {"\033OA", key::up},
      {"j", key::down},
      {"\033[B", key::down},
      {"\033OB", key::down},
      {"\033[5~", key::page_up},
      {"\033[6~", key::page_down},
      {" ", key::page_down},
      {"\033[H", key::home},
      {"g", key::home},
  }};
  while (!typed.empty()) {
    const auto found = std::ranges::find_if(known, [&](const auto& k) { return typed.starts_with(k.first); });
    const std::size_t length = found != known.end()      ? found->first.size()
                               : typed.front() == '\033' ? unknown_sequence(typed)
                                                         : 1;
    typed.erase(0, length);
    if (found != known.end()) return found->second;
    if (length == 0) break;
  }
  return key::none;
}

} // namespace

bool screen::is_there() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

screen::extent screen::size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

screen::screen() {
  has_settings = ::tcgetattr(STDIN_FILENO, &settings_before) == 0;
  keys_ = has_settings;
  for (const int signal : ending) handle(signal, &on_end);
  handle(SIGTSTP, &on_stop);
  handle(SIGWINCH, &on_resize);
  begin();
}

screen::~screen() {
  end();
  for (const int signal : ending) handle(signal, SIG_DFL);
  handle(SIGTSTP, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
}

void screen::show(const std::vector<std::string>& lines) {
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i];
    text += i + 1 < lines.size() ? "\033[K\r\n" : "\033[K";
  }
  print(text + "\033[J");
}

key screen::wait_until(std::chrono::steady_clock::time_point until) {
  for (;;) {
    if (draw_again != 0) return draw_again = 0, key::none;
    if (const key pressed = take_key(typed_); pressed != key::none) return pressed;
    const auto left = duration_cast<nanoseconds>(until - steady_clock::now());
    if (left <= 0ns) return key::none;
    read_keys(left);
  }
}

key screen::take() {
  for (;;) {
    if (const key typed = take_key(typed_); typed != key::none) return typed;
    if (!read_keys(0ns)) return key::none;
  }
}

/// Waits for keys, and notes what was typed. Returns whether anything was.
bool screen::read_keys(std::chrono::nanoseconds within) {
  const timespec time{within / 1s, (within % 1s).count()};
  pollfd input{keys_ ? STDIN_FILENO : -1, POLLIN, 0};
  if (::ppoll(&input, 1, &time, nullptr) <= 0) return false;
  std::array<char, 64> bytes{};
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) keys_ = false;
  if (n > 0) typed_.append(bytes.data(), static_cast<std::size_t>(n));
  return n > 0;
}

} // namespace corewise::command
