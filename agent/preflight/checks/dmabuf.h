// The conditions of dma-buf registration that are visible without CUDA and verbs. Pure.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

inline constexpr const char* kDmabufKernel = "5.12";    // ib_umem_dmabuf
inline constexpr const char* kDmabufDriver = "515.43";  // the first open kernel modules, CUDA 11.7
inline constexpr const char* kDmabufRdmaCore = "34";    // ibv_reg_dmabuf_mr

// Returns the reason why the GPUs cannot export dma-bufs, or "" when no known fact prevents it.
std::string dmabuf_gpu_obstacle(const Inventory& node);
// Returns the reason why `nic` cannot register dma-bufs, or "" when no known fact prevents it.
std::string dmabuf_nic_obstacle(const Inventory& node, const RdmaDevice& nic);
// Whether the GPUs and at least one NIC meet all conditions, with every fact known.
bool dmabuf_in_place(const Inventory& node);
// Whether a known fact makes dma-buf impossible here. Neither in place nor ruled out: not known.
bool dmabuf_ruled_out(const Inventory& node);
// Whether nvidia-peermem or nv_peer_mem is loaded and serves instead of dma-buf.
bool peer_memory_loaded(const Inventory& node);

}  // namespace railgauge::agent
