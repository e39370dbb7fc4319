// A libibverbs without hardware: libibverbs-fake.so, loaded through RAILGAUGE_LIBIBVERBS. Two
// devices, fake0 and fake1, with one RoCE port each; any queue pair reaches any other on this host,
// in this process or another of the same user. Supports RC, UC and UD. Writes, reads, sends and
// atomics are complete when the post returns, a write's last byte last; a send on RC without a
// receive waits, and continues when its owner posts or polls. A channel's descriptor becomes
// readable every 100 us; reading an event never blocks. An unsupported call fails with EOPNOTSUPP.
// Results are marked `synthetic`.
//
// Tests link it and control it here; other processes by RAILGAUGE_FAKE_VERBS=NAME=VALUE,... with
// the names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace railgauge::fake {

// Faults of a wire whose posts all complete with success. The message before is the queue pair's,
// and has as many bytes; where there is none, nothing happens.
enum class WireFault : std::uint8_t {
  kNone,
  kCorrupt,  // a bit in the middle is wrong; a word that an atomic changed has a wrong bit
  kDrop,     // nothing is delivered, and an atomic does not work
  kRepeat,   // the payload of the message before is delivered in its place
  kSwap,     // it and the message before have each other's payload
};

struct VerbsControl {
  // Calls since reset() that could fail: creating, changing, querying, posting, and polls that
  // found a completion.
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> fail_call{0};   // this call fails with EIO, once; 0: none
  std::atomic<const char*> failed_call{""};  // its name, or of the first that failed; "" before
  // From this call on all fail with EIO, empty polls and releases too, as with a device that is
  // gone; 0: none. A release frees its object nevertheless.
  std::atomic<std::uint64_t> fail_from{0};
  // 1: after fail_from posts are taken and polls find nothing, as where the device dies and its
  // driver's library does not know yet.
  std::atomic<std::uint64_t> fail_quietly{0};
  // Posts and polls since reset(), and the number of them, from the first on, that count as calls:
  // in a task with a given duration their number depends on the scheduler.
  std::atomic<std::uint64_t> transfers{0};
  std::atomic<std::uint64_t> transfers_that_count{UINT64_MAX};
  std::atomic<std::int64_t> live_handles{0};

  // 1: one byte of each operation above 8 bytes is wrong, and no atomic does its work
  std::atomic<std::uint64_t> flip_byte{0};
  std::atomic<std::uint64_t> flip_write{0};  // as flip_byte, only of this operation; 0: none
  // The fate of each `fault_every`th data operation, as data_writes counts them; 0: of none.
  std::atomic<std::uint64_t> fault{0};  // a WireFault
  std::atomic<std::uint64_t> fault_every{0};
  std::atomic<std::uint64_t> fail_destroy{0};  // 1: releases return EIO, as with a lost device
  std::atomic<std::uint64_t> lose_after{0};    // writes until the peer is unreachable; 0: never
  std::atomic<std::uint64_t> memlock{0};       // 1: registration obeys RLIMIT_MEMLOCK for everybody
  std::atomic<std::uint64_t> port_down{0};     // 1: ports are down
  std::atomic<std::uint64_t> max_inline{256};  // bytes a queue pair can send inline
  std::atomic<std::uint64_t> delay_ns{0};      // a write takes at least this long
  // This data operation's local memory counts as not registered; 0: none.
  std::atomic<std::uint64_t> unregister_at{0};
  std::atomic<std::uint64_t> infiniband{0};  // 1: the ports are InfiniBand; 2: and want a GRH
  std::atomic<std::uint64_t> iwarp{0};       // 1: the devices are iWARP's
  // 1: the ports' rates, 200 Gb/s, count as hardware limits, which no figure may exceed
  std::atomic<std::uint64_t> hardware_rate{0};
  std::atomic<std::uint64_t> slow_port{0};  // 1: fake0's port reports 2.5 Gb/s, 2: fake1's; 0: none
  std::atomic<std::uint64_t> max_message{1U << 31U};   // a port's largest message, in bytes
  std::atomic<std::uint64_t> no_memory_for_queues{0};  // 1: CQs, 2: QPs cannot be made: ENOMEM
  std::atomic<std::uint64_t> lose_datagram{0};         // this message on UC or UD is lost; 0: none
  std::atomic<std::uint64_t> lose_empty{0};            // the same for messages without bytes
  // Errno for registering GPU memory by a dma-buf, or by its address as with nvidia-peermem; 0: it
  // works.
  std::atomic<std::uint64_t> no_dmabuf{0};
  std::atomic<std::uint64_t> no_peermem{0};
  // Errno of registering with on-demand paging; 0: it works.
  std::atomic<std::uint64_t> no_on_demand{0};
  // Errno of registering for Data Direct, and of asking for its folder; 0: it works.
  std::atomic<std::uint64_t> no_data_direct{0};
  std::atomic<std::uint64_t> no_data_direct_query{0};
  // The dma-buf mapping by which the adapter reaches GPU memory: 1: default, 2: PCIe, 3: Data
  // Direct. By another one a region is registered too, and its data is lost; 0: any works.
  std::atomic<std::uint64_t> right_mapping{0};
  std::atomic<std::uint64_t> writes{0};        // operations done since reset()
  std::atomic<std::uint64_t> data_writes{0};   // operations above 8 bytes, and atomics
  std::atomic<std::uint64_t> datagrams{0};     // operations on UC and UD above 8 bytes
  std::atomic<std::uint64_t> empties{0};       // operations without bytes
  std::atomic<std::uint64_t> gathers{0};       // times that a post's own bytes were read
  std::atomic<std::uint64_t> pinned_bytes{0};  // registered now
  // Called with the number of each data operation, by the posting thread before the bytes move. Set
  // and clear it while nothing runs. reset() keeps it.
  std::function<void(std::uint64_t)> on_data_write;

  // The path of the last queue pair or address handle.
  std::atomic<std::uint32_t> last_is_global{0};
  std::atomic<std::uint32_t> last_service_level{0};
  std::atomic<std::uint32_t> last_traffic_class{0};
  std::atomic<std::uint32_t> last_flow_label{0};
  std::atomic<std::uint32_t> last_pkey_index{0};
  std::atomic<std::uint32_t> last_outstanding_reads{0};

  // Errno of limiting a queue pair's rate; 0: it works, and the last limit in kb/s is below.
  std::atomic<std::uint64_t> no_rate_limit{0};
  std::atomic<std::uint32_t> last_rate_limit{0};
  // 1: the devices have no XRC; 2: they report it, and their provider has none; 3: they report it,
  // and refuse the domain's attributes.
  std::atomic<std::uint64_t> no_xrc{0};
  // 1: completions of receives show no immediate data.
  std::atomic<std::uint64_t> no_immediate{0};
  // The devices' interrupts, and the highest one of a completion queue since reset().
  std::atomic<std::uint64_t> completion_vectors{1};
  std::atomic<std::uint32_t> highest_vector{0};
  // 1: the devices are no mlx5's, or no EFA's; 2: their provider has no DC, or no SRD; 3: it
  // refuses the attributes; 4: DC's initiators alone.
  std::atomic<std::uint64_t> no_dc{0};
  std::atomic<std::uint64_t> no_srd{0};
  // The answer of efadv_query_device: 1 has reads, 2 retries for a receive, 8 writes; and their
  // largest size.
  std::atomic<std::uint64_t> efa_capabilities{1 + 2 + 8};
  std::atomic<std::uint64_t> efa_rdma_bytes{1U << 30U};
  // 1: of two posts of SRD the later one is carried out and completes first.
  std::atomic<std::uint64_t> srd_overtakes{0};
  // 1: no queue pair takes extended requests; and the chains of them since reset().
  std::atomic<std::uint64_t> no_extended{0};
  std::atomic<std::uint64_t> extended_chains{0};

  // Resets to the values in RAILGAUGE_FAKE_VERBS; live handles stay.
  void reset();
};

// Sets the folder used in place of /sys/class/infiniband, or "" for none: the kernel's files of
// fakeN's port are then read below `folder`/fakeN/ports/1. Call before the device is opened.
void set_sysfs_folder(std::string_view folder);

// Sets the folder of the devices' Data Direct function, without "/sys"; "": they have none. Call
// before the memory is registered.
void set_data_direct_folder(std::string_view folder);

// Has the open devices named `device` ("": all of this process) report an event of this type, an
// ibv_event_type; one of a port is about port 1.
void tell_async_event(int type, std::string_view device = "");

// Returns the control of the loaded library, one a process.
VerbsControl& verbs_control();

}  // namespace railgauge::fake
