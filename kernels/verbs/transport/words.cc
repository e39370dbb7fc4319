#include "kernels/verbs/transport/words.h"

#include <arpa/inet.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

namespace railgauge::verbs {
namespace {

// A value beyond the table is "unknown": a newer library may have more.
template <std::size_t kCount>
std::string_view word_at(const std::array<std::string_view, kCount>& words, std::size_t index) {
  return index < kCount ? words[index] : std::string_view("unknown");
}

// Whether this thread has CAP_IPC_LOCK in effect, to which the limit does not apply; nothing where
// the kernel does not report it.
std::optional<bool> may_lock_any_memory() {
  constexpr unsigned kCapIpcLock = 14;
  constexpr std::string_view kLabel = "CapEff:";
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kLabel)) continue;
    const std::uint64_t effective = std::strtoull(line.c_str() + kLabel.size(), nullptr, 16);
    return (effective >> kCapIpcLock & 1U) != 0;
  }
  return std::nullopt;
}

}  // namespace

std::string_view port_state_words(ibv_port_state state) {
  constexpr std::array<std::string_view, 6> kWords{"without a state", "down",   "initialising",
                                                   "armed",           "active", "active, deferred"};
  return word_at(kWords, state);
}

std::string_view queue_pair_state_words(ibv_qp_state state) {
  constexpr std::array<std::string_view, 7> kWords{"RESET", "INIT", "RTR", "RTS",
                                                   "SQD",   "SQE",  "ERR"};
  return word_at(kWords, state);
}

std::string_view link_layer_words(std::uint8_t link_layer) {
  return link_layer == IBV_LINK_LAYER_ETHERNET ? "ethernet" : "infiniband";
}

std::string_view gid_type_words(std::uint32_t gid_type) {
  constexpr std::array<std::string_view, 3> kWords{"IB", "RoCE v1", "RoCE v2"};
  return word_at(kWords, gid_type);
}

std::string gid_words(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  return text.data();
}

// The enumerator is the exponent: 1 is 256 bytes.
unsigned mtu_bytes(ibv_mtu mtu) { return 128U << static_cast<unsigned>(mtu); }

ibv_mtu mtu_of_bytes(unsigned bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096})
    if (mtu_bytes(mtu) == bytes) return mtu;
  RG_CHECK(false);
  return IBV_MTU_256;
}

// Unknown codes give 0, so that a new speed bounds nothing by mistake.
double port_rate_bits_per_second(const ibv_port_attr& attributes) {
  struct Row {
    std::uint8_t code;
    double value;
  };
  // Gb/s of one lane (IBTA's names in order: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR).
  constexpr std::array kLaneGigabits{Row{1, 2.5},      Row{2, 5},   Row{4, 10},  Row{8, 10.3125},
                                     Row{16, 14.0625}, Row{32, 25}, Row{64, 50}, Row{128, 100}};
  constexpr std::array kLanes{Row{1, 1}, Row{2, 4}, Row{4, 8}, Row{8, 12}, Row{16, 2}};
  double rate = 1e9;
  const auto multiply = [&rate](const auto& rows, std::uint8_t code) {
    for (const Row& row : rows)
      if (row.code == code) {
        rate *= row.value;
        return;
      }
    rate = 0;
  };
  multiply(kLaneGigabits, attributes.active_speed);
  multiply(kLanes, attributes.active_width);
  return rate;
}

// A flush has no cause of its own: it follows an earlier failure.
std::string_view blamed_side(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "the other side";
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return "the path or the other side";
    case IBV_WC_WR_FLUSH_ERR:
      return "what ended the connection before, on the other side, the path or here,";
    default:
      return "this side";
  }
}

// Timeouts and flushes mean that the peer went silent.
Code code_of(ibv_wc_status status) {
  const bool silent = status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ||
                      status == IBV_WC_RESP_TIMEOUT_ERR || status == IBV_WC_WR_FLUSH_ERR;
  return silent ? Code::kUnavailable : Code::kInternal;
}

// CAP_IPC_LOCK exempts a process from the limit, which is then no cause.
Error pinning_error(const std::string& what, int error) {
  const std::string words = fmt::format("{}: {}", what, errno_words(error));
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const bool can_be_the_limit = error == ENOMEM || error == EPERM || error == EAGAIN;
  const std::optional<bool> exempt = may_lock_any_memory();
  if (!limited || !can_be_the_limit || exempt.value_or(false))
    return {error == ENOMEM ? Code::kResourceExhausted : Code::kInternal, words};
  return {Code::kFailedPrecondition,
          fmt::format("{}; locked memory is limited to {} bytes (RLIMIT_MEMLOCK){}; set "
                      "LimitMEMLOCK=infinity in its service or run `ulimit -l unlimited` before it",
                      words, limit.rlim_cur, exempt ? " and the process lacks CAP_IPC_LOCK" : "")};
}

}  // namespace railgauge::verbs
