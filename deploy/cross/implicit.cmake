# The folders that clang searches by itself, which CMake does not find in a root whose lib is a link. An option that names one
# of them would change the order, and the C++ library's headers would not find those of C.
foreach(language C CXX)
  set(CMAKE_${language}_IMPLICIT_INCLUDE_DIRECTORIES ${RAILGAUGE_ROOT}/usr/include/aarch64-linux-gnu ${RAILGAUGE_ROOT}/usr/include)
endforeach()
