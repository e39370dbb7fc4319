// The table of perftest's options, and the functions that read them.
#include "kernels/peers/perftest/rows.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/tool_options.h"

namespace railgauge {
namespace {

using Reading = PerftestReading;
using Row = PerftestRow;

// Stores the value under our parameter's name, with the option for messages; the last one counts.
void say(Reading& reading, const Row& row, const std::string& option, std::string value) {
  reading.said[std::string(row.parameter)] = {option, std::move(value), row.why};
}

// --- what the rows do -------------------------------------------------------------------------

// The value is checked later, against the kernel's declaration.
Status take_value(Reading& reading, const Row& row, const std::string& option,
                  const std::string& value) {
  say(reading, row, option, value);
  return {};
}
// An option that sets our parameter to one word.
template <const char* kWord>
Status take_word(Reading& reading, const Row& row, const std::string& option, const std::string&) {
  say(reading, row, option, kWord);
  return {};
}
constexpr char kTrue[] = "true";
constexpr char kPcie[] = "pcie";
constexpr char kDataDirect[] = "data-direct";
constexpr char kBoth[] = "both";
constexpr char kEvents[] = "events";
constexpr char kRdmaCm[] = "rdma_cm";
// Latencies of writes and atomics never use relaxed ordering, so they satisfy the option without a
// parameter.
Status take_not_relaxed(Reading& reading, const Row& row, const std::string& option,
                        const std::string&) {
  say(reading, row, option, "off");
  reading.said[std::string(row.parameter)].is_so_anyhow = true;
  return {};
}
// Accepts the only value that an option can have here.
template <int kOnly>
Status take_only(Reading&, const Row& row, const std::string& option, const std::string& value) {
  const auto number = parse_integer(value);
  if (number && *number == kOnly) return {};
  return wrong_option(option, "{}: {}", in_quotes(value), row.why);
}

// K and M count 1024 in perftest.
Status take_size(Reading& reading, const Row& row, const std::string& option,
                 const std::string& value) {
  const bool has_unit =
      value.size() > 1 && std::string_view("KkMm").find(value.back()) != std::string_view::npos;
  std::string bytes = value;
  if (has_unit) {
    const bool mega = value.back() == 'M' || value.back() == 'm';
    bytes = value.substr(0, value.size() - 1) + (mega ? "MiB" : "KiB");
  }
  say(reading, row, option, bytes);
  return {};
}
// The tool's range of -a.
Status take_all_sizes(Reading& reading, const Row& row, const std::string& option,
                      const std::string&) {
  say(reading, row, option, "2:8MiB");
  reading.all_sizes = true;
  return {};
}
Status take_transport(Reading& reading, const Row& row, const std::string& option,
                      const std::string& value) {
  constexpr std::array<std::string_view, 6> kOurs{"RC", "UC", "UD", "XRC", "DC", "SRD"};
  if (std::ranges::find(kOurs, value) == kOurs.end())
    return wrong_option(option,
                        "{}: RC, UC, UD, XRC, DC and SRD are measured here; perftest itself may "
                        "know more",
                        in_quotes(value));
  say(reading, row, option, value);
  return {};
}
// The tool's names of the two operations.
Status take_atomic(Reading& reading, const Row& row, const std::string& option,
                   const std::string& value) {
  if (value != "CMP_AND_SWAP" && value != "FETCH_AND_ADD")
    return wrong_option(option, "{} is not CMP_AND_SWAP or FETCH_AND_ADD", in_quotes(value));
  say(reading, row, option, value == "CMP_AND_SWAP" ? "compare_swap" : "fetch_add");
  return {};
}
// Device and port together form the endpoint.
template <std::optional<std::string> Reading::*kField>
Status take_text(Reading& reading, const Row&, const std::string&, const std::string& value) {
  reading.*kField = value;
  return {};
}
// One of the call's own switches. --version is ours: the figures come from our kernels.
template <bool PerftestCall::*kFlag>
Status take_flag(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.call.*kFlag = true;
  return {};
}
// A whole number, as the tool reads it.
Status take_seconds(Reading& reading, const Row&, const std::string& option,
                    const std::string& value) {
  const auto seconds = parse_integer(value);
  if (!seconds || *seconds < 1)
    return wrong_option(option, "{} is no whole number of seconds from 1", in_quotes(value));
  reading.seconds = value;
  return {};
}
// The port of the first contact, not of the data.
Status take_tcp_port(Reading& reading, const Row&, const std::string& option,
                     const std::string& value) {
  const auto port = parse_integer(value);
  if (!port || *port < 1 || *port > UINT16_MAX)
    return wrong_option(option, "{} is no port: 1 to 65535", in_quotes(value));
  reading.call.port = static_cast<std::uint16_t>(*port);
  return {};
}
// Chooses another kernel.
Status take_immediate(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.immediate = true;
  return {};
}
// GPU memory on both sides. Without --use_cuda_dmabuf perftest registers it by address, which needs
// nvidia-peermem; this option does the same.
Status take_gpu(Reading& reading, const Row& row, const std::string& option,
                const std::string& value) {
  reading.said["memory"] = {option, "cuda", row.why};
  reading.said["gpu"] = {option, value, row.why};
  reading.said.try_emplace("registration",
                           Reading::GivenOption{option, std::string("nvidia-peermem"), row.why});
  reading.call.infos.push_back(fmt::format(
      "{} applies to both sides; --set target_memory=host leaves the other one's with its host",
      option));
  return {};
}
// The tool's kinds of CUDA memory: a device's, managed, CUDA's host memory, registered host memory
// and malloc's. The adapter sees host memory in the last, as in ours.
Status take_gpu_kind(Reading& reading, const Row&, const std::string& option,
                     const std::string& value) {
  if (value != "0" && value != "4")
    return wrong_option(option,
                        "{}: 0, a GPU's memory, and 4, the host's, are measured here; managed and "
                        "CUDA's own host memory are not",
                        in_quotes(value));
  reading.host_memory_beside_gpu = value == "4";
  return {};
}
// Replaces the registration by address of --use_cuda.
Status take_dma_buf(Reading& reading, const Row& row, const std::string& option,
                    const std::string&) {
  say(reading, row, option, "dma-buf");
  return {};
}
// With and without a file's name, as the tool has it.
Status take_json(Reading& reading, const Row&, const std::string& option,
                 const std::string& value) {
  constexpr const char* kDefaultFile = "perftest_out.json";
  if (!value.empty() || reading.call.file.empty())
    reading.call.file = value.empty() ? kDefaultFile : value;
  reading.call.infos.push_back(
      fmt::format("{} writes railgauge's document, not perftest's", option));
  return {};
}
// All samples behind the table; of latencies alone, as the tool has it.
template <bool kSorted>
Status take_samples(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.call.samples = kSorted ? PerftestSamples::kSorted : PerftestSamples::kInTime;
  reading.call.raw_samples = true;
  return {};
}
// One number in place of the table.
Status take_output(Reading& reading, const Row&, const std::string& option,
                   const std::string& value) {
  const std::vector<std::string> kFigures{"bandwidth", "message_rate", "latency"};
  if (std::ranges::find(kFigures, value) == kFigures.end())
    return wrong_option(option, "{} is not {}", in_quotes(value), one_of(kFigures));
  reading.call.only = value;
  return {};
}
// Files below the port's folder: "counters/port_xmit_data,hw_counters/out_of_buffer".
Status take_counters(Reading& reading, const Row&, const std::string& option,
                     const std::string& value) {
  for (const std::string_view name : split(value, ',')) {
    const bool is_file = name.starts_with("counters/") || name.starts_with("hw_counters/");
    if (!is_file || name.find("..") != std::string_view::npos)
      return wrong_option(option, "{} is not counters/NAME or hw_counters/NAME", in_quotes(name));
    reading.call.counters.emplace_back(name);
  }
  return {};
}
// In the table's unit; the tool exits with an error below it.
template <double PerftestCall::*kField>
Status take_floor(Reading& reading, const Row&, const std::string& option,
                  const std::string& value) {
  const auto number = parse_number(value);
  if (!number || *number < 0)
    return wrong_option(option, "{} is no number from 0", in_quotes(value));
  reading.call.*kField = *number;
  return {};
}
// In the unit of --rate_units, wherever that is on the command line: see rate_in_gigabits().
Status take_rate(Reading& reading, const Row& row, const std::string& option,
                 const std::string& value) {
  const auto number = parse_number(value);
  if (!number || *number <= 0)
    return wrong_option(option, "{} is no number above 0", in_quotes(value));
  reading.rate = *number;
  say(reading, row, option, value);
  return {};
}
// The tool's letters: MB/s (2^20 bytes), Gb/s, or packets a second.
Status take_rate_unit(Reading& reading, const Row&, const std::string& option,
                      const std::string& value) {
  if (value != "M" && value != "g" && value != "p")
    return wrong_option(option, "{} is not M, g or p", in_quotes(value));
  if (value == "p") return wrong_option(option, "p: a rate is of bytes here; take M or g");
  reading.rate_is_gigabits = value == "g";
  return {};
}
// HW is the rate of the address handle, which no provider of today keeps; PP is packet pacing.
Status take_rate_type(Reading& reading, const Row& row, const std::string& option,
                      const std::string& value) {
  if (value != "SW" && value != "HW" && value != "PP")
    return wrong_option(option, "{} is not SW, HW or PP", in_quotes(value));
  if (value == "HW")
    return wrong_option(option,
                        "HW: a static rate of the path is not set here; take PP, the "
                        "adapter's packet pacing, or SW");
  say(reading, row, option, value == "SW" ? "software" : "hardware");
  return {};
}
// --- ours beside them -------------------------------------------------------------------------

Status take_format(Reading& reading, const Row&, const std::string&, const std::string& value) {
  reading.call.format = RG_TRY(parse_format(value));
  return {};
}
// Reasons that several rows share; they are printed behind the option.
constexpr std::string_view kOneAtATime = "latency has one message in flight, one way";
constexpr std::string_view kOnlyReceivingStreams =
    "only streams of sends and of writes with immediate data have receives that wait";
constexpr std::string_view kOnlySendStreams = "only streams of sends share receives";
constexpr std::string_view kAtomicsHave8 = "atomics have 8 bytes";
constexpr std::string_view kNoRate =
    "latency has one message in flight; only streams have a rate limit";
constexpr std::string_view kSeveralPorts =
    "name the ports with --set devices=DEV:PORT,DEV:PORT, which measures each link and their sum";
constexpr std::string_view kRawEthernet =
    "it is for raw Ethernet frames: a raw packet queue pair needs CAP_NET_RAW, and a runner has no "
    "capability; net.tcp_bw measures the same port";
constexpr std::string_view kPinned =
    "the measuring thread stays near its adapter; leave it out, or start it with taskset or "
    "numactl";
constexpr std::string_view kHints = "TLP processing hints are not set here; leave it out";
constexpr std::string_view kOtherAccelerators =
    "GPU memory is CUDA's or HIP's here, --use_cuda; for others use perftest";
constexpr std::string_view kRocm =
    "take --use_cuda with the GPU's number: it reaches AMD's GPUs by HIP on a host without CUDA";
constexpr std::string_view kOverTcp =
    "addresses go over TCP; -R connects the queue pairs themselves by rdma_cm";
constexpr std::string_view kOneStream = "a DC initiator has one stream here, mlx5's default";
constexpr std::string_view kNoMulticast =
    "a verbs task has two ranks, and a multicast group is for more; use perftest";
constexpr std::string_view kNoEncryption =
    "the adapter's encryption needs a login with the site's credentials and keys, which a runner "
    "does "
    "not hold; use perftest";
constexpr std::string_view kOwnMemory = "memory is our own, registered once; leave it out";

// Makes the row of a refused option, with the alternative.
constexpr Row refused(std::string_view word, char letter, bool takes_value, std::string_view why) {
  return {word, letter, takes_value, refuse<Reading, Row>, {}, why};
}

constexpr std::array kRows{
    // Devices and connections.
    Row{"ib-dev", 'd', true, take_text<&Reading::device>},
    Row{"ib-port", 'i', true, take_text<&Reading::device_port>},
    Row{"port", 'p', true, take_tcp_port},
    Row{"gid-index", 'x', true, take_value, "gid_index"},
    Row{"pkey_index", 0, true, take_value, "pkey_index"},
    Row{"sl", 'S', true, take_value, "service_level"},
    Row{"tclass", 0, true, take_value, "traffic_class"},
    Row{"tos", 'T', true, take_value, "traffic_class"},
    Row{"mtu", 'm', true, take_value, "mtu"},
    Row{"qp-timeout", 'u', true, take_value, "qp_timeout"},
    Row{"retry_count", 0, true, take_value, "retry_count"},
    Row{"flow_label", 0, true, take_value, "flow_label"},
    Row{"rdma_cm", 'R', false, take_word<kRdmaCm>, "connection"},
    Row{"com_rdma_cm", 'z', false, take_nothing, {}, kOverTcp},
    Row{"comm_rdma_cm", 0, false, take_nothing, {}, kOverTcp},  // its newer spelling
    // What.
    Row{"size", 's', true, take_size, "sizes", kAtomicsHave8},
    Row{"all", 'a', false, take_all_sizes, "sizes", kAtomicsHave8},
    Row{"iters", 'n', true, take_value, "iterations"},
    Row{"duration", 'D', true, take_seconds},
    Row{"tx-depth", 't', true, take_value, "depth", kOneAtATime},
    Row{"cq-mod", 'Q', true, take_value, "signal_every", "what is fetched is waited for each time"},
    Row{"qp", 'q', true, take_value, "qps", kOneAtATime},
    Row{"post_list", 'l', true, take_value, "post_list", kOneAtATime},
    Row{"inline_size", 'I', true, take_value, "inline_bytes", "what is fetched is never inline"},
    Row{"connection", 'c', true, take_transport, "transport"},
    Row{"bidirectional", 'b', false, take_word<kBoth>, "direction", kOneAtATime},
    Row{"events", 'e', false, take_word<kEvents>, "poll", "a write is waited for in memory"},
    Row{"vector", 'X', true, take_value, "completion_vector", "a write is waited for in memory"},
    Row{"send_with_imm", 0, false, take_word<kTrue>, "immediate", "only sends can carry it so"},
    Row{"rx-depth", 'r', true, take_value, "receive_depth", kOnlyReceivingStreams},
    Row{"use-srq", 0, false, take_word<kTrue>, "srq", kOnlySendStreams},
    Row{"atomic_type", 'A', true, take_atomic, "operation", "it is for atomics"},
    Row{"write_with_imm", 0, false, take_immediate},
    Row{"disable_pcie_relaxed", 0, false, take_not_relaxed, "relaxed_ordering",
        "a write is waited for in memory, and atomics are never relaxed"},
    Row{"use_hugepages", 0, false, take_word<kTrue>, "huge_pages"},
    Row{"use_cuda", 0, true, take_gpu, "memory"},
    Row{"use_cuda_dmabuf", 0, false, take_dma_buf, "registration"},
    Row{"use_cuda_pcie_mapping", 0, false, take_word<kPcie>, "dmabuf_mapping"},
    Row{"use_data_direct", 0, false, take_word<kDataDirect>, "dmabuf_mapping"},
    Row{"outs", 'o', true, take_value, "outstanding", "only what is fetched is outstanding so"},
    Row{"rate_limit", 0, true, take_rate, "rate_limit", kNoRate},
    Row{"rate_units", 0, true, take_rate_unit, {}, kNoRate},
    Row{"rate_limit_type", 0, true, take_rate_type, "rate_limit_by", kNoRate},
    Row{"burst_size", 0, true, take_value, "rate_burst", kNoRate},
    Row{"odp", 0, false, take_word<kTrue>, "on_demand"},
    Row{"cuda_mem_type", 0, true, take_gpu_kind},
    // How it appears.
    Row{"report-unsorted", 'U', false, take_samples<false>},
    Row{"report-histogram", 'H', false, take_samples<true>},
    Row{"report-histogrm", 0, false, take_samples<true>},  // as the tool spells it
    Row{"output", 0, true, take_output},
    Row{"report-counters", 'W', true, take_counters},
    Row{"limit_bw", 'w', true, take_floor<&PerftestCall::least_bandwidth>},
    Row{"limit_msgrate", 'y', true, take_floor<&PerftestCall::least_message_rate>},
    Row{"report_gbits", 0, false, take_flag<&PerftestCall::gigabits>},
    Row{"report-both", 0, false, take_flag<&PerftestCall::each_direction>},
    Row{"out_json", 0, false, take_json},
    Row{"out_json_file", 0, true, take_json},
    Row{"help", 'h', false, take_help},
    Row{"version", 'V', false, take_flag<&PerftestCall::version>},
    // Options whose effect is always on here.
    Row{"CPU-freq", 'F', false, take_nothing},
    Row{"noPeak", 'N', false, take_nothing},
    Row{"use_old_post_send", 0, false, take_nothing},
    Row{"cpu_util",
        0,
        false,
        take_nothing,
        {},
        "what the CPUs of both ends spent is reported anyhow, with each figure of --format json"},
    Row{"data_validation",
        0,
        false,
        take_nothing,
        {},
        "every size is compared byte by byte after its timed part, in every program"},
    Row{"data_validation_debug", 0, false, take_nothing, {}, "the first wrong message is named"},
    Row{"margin",
        'f',
        true,
        take_nothing,
        {},
        "-D counts all of its seconds, from a running stream on"},
    Row{"ipv6-addr", 0, false, take_nothing, {}, "a host may be named by its IPv6 address anyhow"},
    Row{"disable_dynamic_polling", 0, false, take_nothing},
    Row{"dont_xchg_versions", 0, false, take_nothing, {}, "both sides must be railgauge-runner"},
    Row{"recv_post_list", 0, true, take_only<1>, {}, "receives are given out one by one; take 1"},
    Row{"cqe_poll", 0, true, take_only<16>, {}, "a poll takes up to 16 completions; take 16"},
    Row{"hop_limit", 'L', true, take_only<64>, {}, "the hop limit is 64 here"},
    // Refused options.
    refused("run_infinitely", 0, false, "a run has an end; repeat it, or let a schedule do so"),
    refused("perform_warm_up", 0, false,
            "leave it out, or take the kernel under our name, which warms up until it is steady"),
    refused("report-cycles", 'C', false, "times are us; leave it out"),
    refused("report-per-port", 0, false, kSeveralPorts),
    refused("dualport", 'O', false, kSeveralPorts),
    refused("reversed", 0, false, "start the client on the other host"),
    refused("inline_recv", 0, true, "receives are never inline; leave it out"),
    refused("mcg", 'g', false, kNoMulticast),
    refused("MGID", 'M', true, kNoMulticast),
    refused("latency_gap", 0, true, "the next message follows at once; leave it out"),
    refused("typical_pkt_size", 0, true, "the adapter is told no packet size; it paces by its own"),
    refused("mmap", 0, true, kOwnMemory),
    refused("mmap-offset", 0, true, kOwnMemory),
    refused("mr_per_qp", 0, false, kOwnMemory),
    refused("use_cuda_bus_id", 0, true, "take --use_cuda with the GPU's number or UUID"),
    refused("use_rocm", 0, true, kRocm),
    refused("use_neuron", 0, true, kOtherAccelerators),
    refused("use_neuron_dmabuf", 0, false, kOtherAccelerators),
    refused("use_hl", 0, true, kOtherAccelerators),
    refused("use_mlu", 0, true, kOtherAccelerators),
    refused("use-null-mr", 0, false, kOwnMemory),
    refused("payload_file_path", 0, true, "the bytes are our own, and compared afterwards"),
    refused("use_ooo", 0, false, "placement out of order is not asked for here; leave it out"),
    refused("no_lock", 0, false, "the library locks as it does by default; leave it out"),
    refused("no_ddp", 0, false, "the adapter receives as it does by default; leave it out"),
    refused("unsolicited_write", 0, false,
            "a write with immediate data takes a receive here, on SRD too"),
    refused("connectionless", 0, false, kNoMulticast),
    refused("bind_source_ip", 0, true, "the routing table chooses; leave it out"),
    refused("dlid", 0, true, "the peer sends its address; leave it out"),
    refused("force-link", 0, true, "the port says what it is; leave it out"),
    refused("ipv6", 0, false, "name the GID by its index, -x, or --set gid_rule=roce_v2"),
    refused("source_ip", 0, true, "the routing table chooses; leave it out"),
    refused("wait_destroy", 0, true,
            "queue pairs end with the task, and nothing is left to wait for; leave it out"),
    refused("log_dci_streams", 0, true, kOneStream),
    refused("log_active_dci_streams", 0, true, kOneStream),
    refused("aes_xts", 0, false, kNoEncryption),
    refused("encrypt_on_tx", 0, false, kNoEncryption),
    refused("sig_before", 0, false, kNoEncryption),
    refused("aes_block_size", 0, true, kNoEncryption),
    refused("data_enc_keys_number", 0, true, kNoEncryption),
    refused("kek_path", 0, true, kNoEncryption),
    refused("credentials_path", 0, true, kNoEncryption),
    refused("data_enc_key_app_path", 0, true, kNoEncryption),
    refused("source_mac", 'B', true, kRawEthernet),
    refused("dest_mac", 'E', true, kRawEthernet),
    refused("dest_ip", 'J', true, kRawEthernet),
    refused("dest_port", 'K', true, kRawEthernet),
    refused("source_port", 'k', true, kRawEthernet),
    refused("ethertype", 'Y', true, kRawEthernet),
    refused("server", 'Z', false, kRawEthernet),
    refused("client", 'P', false, kRawEthernet),
    refused("mac_fwd", 'v', false, kRawEthernet),
    refused("use_rss", 'G', false, kRawEthernet),
    refused("remote_mac", 0, true, kRawEthernet),
    refused("local_mac", 0, true, kRawEthernet),
    refused("remote_ip", 0, true, kRawEthernet),
    refused("local_ip", 0, true, kRawEthernet),
    refused("remote_port", 0, true, kRawEthernet),
    refused("local_port", 0, true, kRawEthernet),
    refused("tcp", 0, false, kRawEthernet),
    refused("use_musa", 0, true, kOtherAccelerators),
    refused("use_musa_bus_id", 0, true, kOtherAccelerators),
    refused("use_musa_dmabuf", 0, false, kOtherAccelerators),
    refused("use_musa_pcie_mapping", 0, false, kOtherAccelerators),
    refused("use_rocm_dmabuf", 0, false, kRocm),
    refused("use_mlu_dmabuf", 0, false, kOtherAccelerators),
    refused("use_opencl", 0, true, kOtherAccelerators),
    refused("opencl_platform_id", 0, true, kOtherAccelerators),
    refused("use_ib_dm_dmabuf", 0, true,
            "memory of the adapter itself is not measured here; use perftest"),
    refused("gpu_touch", 0, true, "no GPU kernel runs beside the stream; leave it out"),
    refused("raw_ipv6", 0, false, kRawEthernet),
    refused("promiscuous", 0, false, kRawEthernet),
    refused("sniffer", 0, false, kRawEthernet),
    refused("raw_mcast", 0, false, kRawEthernet),
    refused("flows", 0, true, kRawEthernet),
    refused("flows_burst", 0, true, kRawEthernet),
    refused("reply_every", 0, true, kRawEthernet),
    refused("vlan_en", 0, false, kRawEthernet),
    refused("vlan_pcp", 0, true, kRawEthernet),
    refused("congest_type", 0, true,
            "the adapter's congestion control stays as the site has it; leave it out"),
    refused("no_enhanced_reorder", 0, false,
            "the adapter's order of placement stays as it is; leave it out"),
    refused("tph_mem", 0, true, kHints),
    refused("cpu_id", 0, true, kHints),
    refused("ph", 0, true, kHints),
    refused("sig_offload", 0, false,
            "signature offload makes and checks T10-DIF blocks of storage, which no message here "
            "has; use "
            "perftest"),
    refused("pin_cores", 0, true, kPinned),
    refused("numa_node", 0, true, kPinned),
    refused("disable_numa", 0, false, kPinned),
    // Ours.
    Row{"set", 0, true, take_set},
    Row{"format", 0, true, take_format},
    Row{"deadline", 0, true, take_deadline},
    Row{"raw-samples", 0, false, take_flag<&PerftestCall::raw_samples>},
};

}  // namespace

std::span<const PerftestRow> perftest_rows() { return kRows; }

// Compares the function, so that rows need no flag.
bool is_refused(const PerftestRow& row) { return row.take == refuse<Reading, Row>; }

}  // namespace railgauge
