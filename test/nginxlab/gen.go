package nginxlab

// The compiler is pinned, so that the committed libraries can be compared byte for byte with freshly
// built ones. Nothing in them tells where and by what they were made.
//go:generate clang-19 --target=x86_64-linux-gnu -O2 -Wall -Wextra -Werror -ffreestanding -fPIC -fno-ident -fno-asynchronous-unwind-tables -nostdlib -shared -fuse-ld=lld -Wl,-s,--build-id=none -o clock_amd64.so clock.c
//go:generate clang-19 --target=aarch64-linux-gnu -O2 -Wall -Wextra -Werror -ffreestanding -fPIC -fno-ident -fno-asynchronous-unwind-tables -nostdlib -shared -fuse-ld=lld -Wl,-s,--build-id=none -o clock_arm64.so clock.c
