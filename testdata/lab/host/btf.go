package host

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
)

// extractBTF writes the .BTF section of the kernel in a bzImage. Where the
// compressed kernel lies is in the boot protocol's header
// (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length).
func extractBTF(ctx context.Context, vmlinuz, to string) error {
	image, err := os.ReadFile(vmlinuz)
	if err != nil {
		return err
	}
	payload, err := bzPayload(image)
	if err != nil {
		return fmt.Errorf("%s: %w", vmlinuz, err)
	}
	packed := to + ".packed"
	if err := os.WriteFile(packed, payload, 0o600); err != nil {
		return err
	}
	defer os.Remove(packed)
	tool := "xz"
	if bytes.HasPrefix(payload, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		tool = "zstd"
	}
	kernel, err := run(ctx, "", tool, "-dcf", packed)
	if err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return fmt.Errorf("%s: the kernel inside: %w", vmlinuz, err)
	}
	section := f.Section(".BTF")
	if section == nil {
		return fmt.Errorf("%s: the kernel has no section .BTF", vmlinuz)
	}
	btf, err := section.Data()
	if err != nil {
		return err
	}
	return os.WriteFile(to, btf, 0o644)
}

// bzPayload is the compressed kernel, without the length that follows it.
func bzPayload(image []byte) ([]byte, error) {
	const setupSects, magic, payloadOffset, payloadLength = 0x1f1, 0x202, 0x248, 0x24c
	if len(image) < payloadLength+4 || string(image[magic:magic+4]) != "HdrS" {
		return nil, fmt.Errorf("is no bzImage")
	}
	start := (uint64(image[setupSects]) + 1) * 512
	start += uint64(binary.LittleEndian.Uint32(image[payloadOffset:]))
	end := start + uint64(binary.LittleEndian.Uint32(image[payloadLength:]))
	if end > uint64(len(image)) || end < start+4 {
		return nil, fmt.Errorf("its compressed kernel is cut off")
	}
	return image[start : end-4], nil
}
