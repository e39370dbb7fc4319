// The conditions of dma-buf registration, as far as they are visible without CUDA and verbs. Pure.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

inline constexpr const char* kDmabufKernel = "5.12";    // ib_umem_dmabuf
inline constexpr const char* kDmabufDriver = "515.43";  // the first open kernel modules, CUDA 11.7
inline constexpr const char* kDmabufRdmaCore = "34";    // ibv_reg_dmabuf_mr

// Why the GPU's side cannot; "" when it can as far as is known.
std::string dmabuf_gpu_obstacle(const Inventory& node);
// Why that NIC's side cannot; likewise.
std::string dmabuf_nic_obstacle(const Inventory& node, const RdmaDevice& nic);
// Both sides of at least one NIC, and every fact was known.
bool dmabuf_in_place(const Inventory& node);
// Something is known that makes it impossible here. Neither in place nor ruled out is not known.
bool dmabuf_ruled_out(const Inventory& node);
// nvidia-peermem or nv_peer_mem serves instead.
bool peer_memory_loaded(const Inventory& node);

}  // namespace railgauge::agent
