// Opens a <dialog> as a modal box for as long as it exists, and says when the
// browser closed it (Escape).
//
//   <dialog use:modal={close}>
//
// The browser tells of a close in a task of its own, later. By then this dialog may
// be gone and another one open in its place, which must not be closed by the old
// one's word: so a dialog that is gone says nothing.
export function modal(dialog: HTMLDialogElement, close: () => void) {
  const closed = () => close();
  dialog.addEventListener('close', closed);
  dialog.showModal();
  return {
    update: (next: () => void) => void (close = next),
    destroy() {
      dialog.removeEventListener('close', closed);
      dialog.close();
    },
  };
}
